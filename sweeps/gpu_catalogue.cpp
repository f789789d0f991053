// SPDX-License-Identifier: Apache-2.0
#include "sweeps/gpu_catalogue.hpp"

#include <algorithm>
#include <charconv>
#include <map>

#include "base/check.hpp"
#include "base/text.hpp"
#include "sweeps/gpu_catalogue_csv.hpp"

namespace batchsweep::sweeps {
namespace {

using Cells = std::vector<std::string_view>;

// Cuts one line off `text`. The cells that are used here hold no quotes; quoted ones (notes,
// sources) are only stepped over.
Cells take_line(std::string_view& text) {
  Cells cells;
  bool quoted = false;
  std::size_t start = 0, at = 0;
  for (; at < text.size() && text[at] != '\n'; ++at) {
    if (text[at] == '"') quoted = !quoted;
    if (text[at] != ',' || quoted) continue;
    cells.push_back(text.substr(start, at - start));
    start = at + 1;
  }
  cells.push_back(text.substr(start, at - start));
  text.remove_prefix(std::min(at + 1, text.size()));
  return cells;
}

std::optional<double> number(std::string_view cell, double factor) {
  if (cell.empty()) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  BATCHSWEEP_ASSERT(error == std::errc{} && end == cell.data() + cell.size());
  return value * factor;
}

std::vector<GpuType> parse_catalogue() {
  std::string_view text = kGpuCatalogueCsv;
  std::map<std::string_view, std::size_t> column;
  for (const std::string_view name : take_line(text)) column.emplace(name, column.size());
  std::vector<GpuType> types;
  while (!text.empty()) {
    const Cells cells = take_line(text);
    BATCHSWEEP_ASSERT(cells.size() == column.size());
    const auto cell = [&](std::string_view name) { return cells[column.at(name)]; };
    types.push_back(
        {.name = cell("gpu"),
         .architecture = cell("architecture"),
         .compute_capability = cell("compute_capability"),
         .memory_bytes = static_cast<std::uint64_t>(number(cell("memory_bytes"), 1).value_or(0)),
         .bandwidth_bytes_per_s = number(cell("bandwidth_gb_s"), 1e9),
         .fp32_flops = number(cell("fp32_tflops"), 1e12),
         .tf32_flops = number(cell("tf32_dense_tflops"), 1e12),
         .fp16_flops = number(cell("fp16_dense_tflops"), 1e12),
         .bf16_flops = number(cell("bf16_dense_tflops"), 1e12),
         .fp8_flops = number(cell("fp8_dense_tflops"), 1e12),
         .tdp_w = number(cell("tdp_w"), 1),
         .launch_price_usd = number(cell("launch_price_usd"), 1),
         .cloud_usd_per_hour = number(cell("cloud_usd_per_gpu_h"), 1),
         .driver_name = cell("driver_name")});
  }
  return types;
}

// Lower-case words: "RTX A6000" -> rtx, a6000.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (c == ' ' || c == '-' || c == '_') {
      if (!words.back().empty()) words.emplace_back();
    } else {
      words.back() += 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += word;
  return text;
}

std::string_view without_vendor(std::string_view driver_name) {
  constexpr std::string_view kVendor = "NVIDIA ";
  if (driver_name.starts_with(kVendor)) driver_name.remove_prefix(kVendor.size());
  return driver_name;
}

}  // namespace

std::span<const GpuType> gpu_catalogue() {
  static const std::vector<GpuType> types = parse_catalogue();
  return types;
}

const GpuType* find_gpu(std::string_view name) {
  for (const GpuType& type : gpu_catalogue()) {
    if (type.name == name) return &type;
  }
  return nullptr;
}

std::vector<std::string> gpu_candidates(std::string_view wanted) {
  if (find_gpu(wanted) != nullptr) return {std::string(wanted)};
  const std::vector<std::string> wanted_words = words_of(wanted);
  std::vector<std::string> names, candidates;
  for (const GpuType& type : gpu_catalogue()) {
    names.emplace_back(type.name);
    const std::vector<std::string> words = words_of(type.name);
    const auto has = [&](const std::string& word) {
      return std::find(words.begin(), words.end(), word) != words.end();
    };
    const bool all =
        !wanted_words.empty() && std::all_of(wanted_words.begin(), wanted_words.end(), has);
    if (all || joined(words) == joined(wanted_words)) candidates.emplace_back(type.name);
  }
  return candidates.empty() ? nearest_names(wanted, names) : candidates;
}

const GpuType* find_gpu_by_driver(std::string_view driver_name, std::uint64_t memory_bytes) {
  const double memory = static_cast<double>(memory_bytes);
  for (const GpuType& type : gpu_catalogue()) {
    const double nominal = static_cast<double>(type.memory_bytes);
    const bool same_name = without_vendor(type.driver_name) == without_vendor(driver_name);
    if (same_name && memory >= 0.90 * nominal && memory <= 1.02 * nominal) return &type;
  }
  return nullptr;
}

}  // namespace batchsweep::sweeps
