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

struct ModelInfo {
  std::string_view name;
  Domain domain;
  std::int64_t image_size;       // side of the square input; 0 for text
  std::int64_t channels;
  std::int64_t num_classes;      // default; for text the vocabulary
  std::int64_t min_image_size;   // smallest side that the network accepts; 0 for text
  std::int64_t max_positions;    // longest sequence; 0 for images
  std::int64_t num_parameters;   // at the defaults
  std::optional<double> multiply_adds_per_sample;  // forward, at the defaults; formula: model_table.cpp
  std::vector<std::string_view> heads;             // first = default
  std::string_view source;       // "torchvision resnet18"
  std::optional<double> dropout;  // default; absent: the network has none
};

[[nodiscard]] std::span<const ModelInfo> model_table();
[[nodiscard]] const ModelInfo* find_model(std::string_view name);

}  // namespace batchsweep::sweeps
