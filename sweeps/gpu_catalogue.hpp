// SPDX-License-Identifier: Apache-2.0
// The cards people know, with their memory and abilities. Names are checked strings, never an enum: other cards exist.
// Figures: shared facts with their sources in sweeps/gpu_catalogue.csv.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace batchsweep::sweeps {

struct GpuType {
  std::string_view name;          // "H100 80GB SXM"
  std::string_view architecture;  // "Hopper"
  std::string_view compute_capability;  // "9.0"; "" unknown
  std::uint64_t memory_bytes;
  std::optional<double> bandwidth_bytes_per_s;
  std::optional<double> fp32_flops, tf32_flops, fp16_flops, bf16_flops, fp8_flops;  // dense peaks, FLOP/s
  std::optional<double> tdp_w, launch_price_usd, cloud_usd_per_hour;
  std::string_view driver_name;   // exact name that the driver reports, "" unknown
};

[[nodiscard]] std::span<const GpuType> gpu_catalogue();
[[nodiscard]] const GpuType* find_gpu(std::string_view name);
// Catalogue names that a short form could mean ("A100" -> four of them); exact names give one.
[[nodiscard]] std::vector<std::string> gpu_candidates(std::string_view wanted);
// The type of a found card: exact driver name (old drivers leave "NVIDIA " out) and memory within -10/+2 % of the catalogue's.
// A driver name alone is no identity: 40 GB and 80 GB cards have carried the same one.
[[nodiscard]] const GpuType* find_gpu_by_driver(std::string_view driver_name, std::uint64_t memory_bytes);

}  // namespace batchsweep::sweeps
