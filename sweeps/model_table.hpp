// SPDX-License-Identifier: Apache-2.0
// The built-in models, usable without LibTorch; a train test compares this table with the built models.
// Never an enum: scripts and names of published rows are models too.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace batchsweep::sweeps {

enum class Domain { kImage, kText };

// What is asked of a model, which decides the shape of its targets.
enum class Task {
  kClassify,      // the class of each sample
  kSegment,       // the class of each pixel
  kMaskedTokens,  // the tokens that were hidden
  kNextToken,     // of every token the one behind it
  kAnswerSpan,    // where in the sequence the answer begins and ends
  kTranslate,     // a second sequence
};

// What a model of language may end in.
struct Head {
  std::string_view name;
  Task task;
};

struct ModelInfo {
  std::string_view name;
  Domain domain = Domain::kImage;
  Task task = Task::kClassify;       // with the first head
  std::int64_t image_size = 0;       // side of the square input; 0 for text
  std::int64_t channels = 0;         // of images
  std::int64_t num_classes = 0;      // default, of kClassify and kSegment
  std::int64_t min_image_size = 0;   // smallest side that the network accepts; 0 for text
  std::int64_t vocabulary = 0;       // of text
  std::int64_t max_positions = 0;    // longest sequence; 0 for images
  std::int64_t num_parameters = 0;   // at the defaults
  std::optional<double> multiply_adds_per_sample;  // forward, at the defaults; formula: model_table.cpp
  std::vector<Head> heads;        // first = default; empty: there is no choice
  std::string_view source;        // "torchvision resnet18"
  std::optional<double> dropout;  // default; absent: the network has none
  bool has_attention = false;
};

[[nodiscard]] std::span<const ModelInfo> model_table();
[[nodiscard]] const ModelInfo* find_model(std::string_view name);

}  // namespace batchsweep::sweeps
