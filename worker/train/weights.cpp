// SPDX-License-Identifier: Apache-2.0
#include "worker/train/weights.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <vector>

#include "base/text.hpp"
#include "worker/train/safetensors.hpp"
#include "worker/train/trial_errors.hpp"

namespace batchsweep::train {
namespace {

constexpr std::size_t kShown = 3;

std::string list(const std::vector<std::string>& names) {
  const std::span shown = std::span(names).first(std::min(names.size(), kShown));
  const std::string text = fmt::format("{}", fmt::join(shown, ", "));
  if (shown.size() == names.size()) return text;
  return fmt::format("{} and {} more", text, names.size() - shown.size());
}

// What is wrong with the file, kind by kind.
struct Mismatch {
  std::vector<std::string> absent, unknown, shapes, not_finite;

  [[nodiscard]] std::string text() const {
    std::vector<std::string> parts;
    if (!absent.empty()) parts.push_back(fmt::format("it lacks {}", list(absent)));
    if (!unknown.empty()) parts.push_back(fmt::format("the model has no {}", list(unknown)));
    if (!shapes.empty()) parts.push_back(fmt::format("other shapes: {}", list(shapes)));
    if (!not_finite.empty()) parts.push_back(fmt::format("not finite: {}", list(not_finite)));
    return fmt::format("{}", fmt::join(parts, "; "));
  }
};

bool is_counter(const at::Tensor& tensor) { return !tensor.is_floating_point(); }

// The file's tensors under the model's names.
std::map<std::string, at::Tensor> read_named(const Parameters& parameters,
                                             const std::string& path) {
  auto file = read_safetensors(path);
  const std::string& prefix = parameters.optional_prefix();
  const auto has_prefix = [&](const auto& entry) { return entry.first.starts_with(prefix); };
  const bool prefixed = std::any_of(file.begin(), file.end(), has_prefix);
  std::map<std::string, at::Tensor> named;
  for (auto& [name, tensor] : file) named.emplace(prefixed ? name : prefix + name, tensor);
  const auto ignored = [&](const auto& entry) {
    const auto& patterns = parameters.ignored_in_files();
    return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
      return matches_pattern(entry.first, pattern);
    });
  };
  std::erase_if(named, ignored);
  return named;
}

bool is_finite(const at::Tensor& tensor) {
  return !tensor.is_floating_point() || tensor.isfinite().all().item<bool>();
}

}  // namespace

void load_weights(const Parameters& parameters, const std::string& path, Missing missing) {
  const at::NoGradGuard no_grad;
  auto file = read_named(parameters, path);
  Mismatch mismatch;
  std::vector<std::pair<at::Tensor, at::Tensor>> copies;  // from, to
  const auto match = [&](const NamedTensor& ours) {
    const auto found = file.find(ours.name);
    if (found == file.end()) {
      // Older files have no batch counters; nothing depends on them.
      if (!is_counter(ours.tensor)) mismatch.absent.push_back(ours.name);
      return;
    }
    const at::Tensor theirs = found->second;
    file.erase(found);
    if (theirs.sizes() != ours.tensor.sizes()) {
      mismatch.shapes.push_back(fmt::format("{} [{}], here [{}]", ours.name,
                                            fmt::join(theirs.sizes(), ", "),
                                            fmt::join(ours.tensor.sizes(), ", ")));
    } else if (!is_finite(theirs)) {
      mismatch.not_finite.push_back(ours.name);
    } else {
      copies.emplace_back(theirs, ours.tensor);
    }
  };
  for (const NamedTensor& parameter : parameters.trained()) match(parameter);
  for (const NamedTensor& buffer : parameters.buffers()) match(buffer);
  for (const auto& [name, tensor] : file) mismatch.unknown.push_back(name);
  if (missing == Missing::kAllowed) {
    mismatch.absent.clear();
    mismatch.unknown.clear();
    if (copies.empty() && mismatch.text().empty())
      mismatch.unknown.emplace_back("tensor of this file");
  }
  if (const std::string wrong = mismatch.text(); !wrong.empty()) {
    const bool by_name = !mismatch.absent.empty() || !mismatch.unknown.empty();
    throw TrialFailed(
        fmt::format("the weights {} do not fit this model: {}{}", path, wrong,
                    by_name ? " (partial_weights = true loads what fits by name)" : ""));
  }
  for (auto& [from, to] : copies) to.copy_(from);
}

}  // namespace batchsweep::train
