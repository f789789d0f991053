// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/units.hpp"
#include "cli/answer.hpp"
#include "cli/verbs.hpp"
#include "sweeps/gpu_catalogue.hpp"

namespace batchsweep::cli {
namespace {

using sweeps::GpuType;

std::string scaled(const std::optional<double>& value, double unit) {
  if (!value) return "";
  return *value / unit < 1000 ? fmt::format("{:.4g}", *value / unit)
                              : fmt::format("{:.0f}", *value / unit);
}

Table gpus_table() {
  Table table{{"gpu", "architecture", "capability", "memory", "GB/s", "fp32 TFLOP/s", "tf32",
               "fp16", "bf16", "fp8", "W", "launch USD", "cloud USD/h"},
              {}};
  for (const GpuType& gpu : sweeps::gpu_catalogue()) {
    table.rows.push_back(
        {std::string(gpu.name), std::string(gpu.architecture), std::string(gpu.compute_capability),
         format_bytes(static_cast<double>(gpu.memory_bytes)),
         scaled(gpu.bandwidth_bytes_per_s, 1e9), scaled(gpu.fp32_flops, 1e12),
         scaled(gpu.tf32_flops, 1e12), scaled(gpu.fp16_flops, 1e12), scaled(gpu.bf16_flops, 1e12),
         scaled(gpu.fp8_flops, 1e12), scaled(gpu.tdp_w, 1), scaled(gpu.launch_price_usd, 1),
         scaled(gpu.cloud_usd_per_hour, 1)});
  }
  return table;
}

Json gpus_json() {
  Json list = Json::array();
  for (const GpuType& gpu : sweeps::gpu_catalogue()) {
    Json entry{{"gpu", gpu.name},
               {"architecture", gpu.architecture},
               {"compute_capability", gpu.compute_capability},
               {"driver_name", gpu.driver_name},
               {"memory_bytes", gpu.memory_bytes}};
    const auto add = [&](const char* key, const std::optional<double>& value) {
      if (value) entry[key] = *value;
    };
    add("bandwidth_bytes_per_s", gpu.bandwidth_bytes_per_s);
    add("fp32_flops", gpu.fp32_flops);
    add("tf32_flops", gpu.tf32_flops);
    add("fp16_flops", gpu.fp16_flops);
    add("bf16_flops", gpu.bf16_flops);
    add("fp8_flops", gpu.fp8_flops);
    add("tdp_w", gpu.tdp_w);
    add("launch_price_usd", gpu.launch_price_usd);
    add("cloud_usd_per_hour", gpu.cloud_usd_per_hour);
    list.push_back(std::move(entry));
  }
  return Json{{"gpus", std::move(list)}};
}

}  // namespace

void add_gpus(CommandLine& line) {
  const auto format = std::make_shared<std::string>();
  line.add("gpus", "list the catalogue of GPUs: names, memory, dense peaks, prices")
      .choice("--format", *format, format_words(), "how the answer is written")
      .example("batchsweep gpus --format csv")
      .run([format] {
        print_answer(*format, gpus_table(), gpus_json);
        return ExitCode::kDone;
      });
}

}  // namespace batchsweep::cli
