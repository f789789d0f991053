// SPDX-License-Identifier: Apache-2.0
#include "worker/train/data/data_source.hpp"

#include <fmt/format.h>

#include "worker/train/trial_errors.hpp"

namespace batchsweep::train {

std::unique_ptr<DataSource> open_data(const sweeps::TrialSpec& spec, std::uint64_t seed,
                                      c10::Device device) {
  if (spec.data == "synthetic") return open_synthetic(spec, seed, device);
  if (spec.data == "fashion-mnist") return open_fashion_mnist(spec, seed, device);
  if (spec.data.starts_with("text:")) return open_text(spec, seed, device);
  throw TrialFailed(fmt::format(
      "this batchsweep-trial has no data '{}': it has synthetic, fashion-mnist and text:FILE",
      spec.data));
}

}  // namespace batchsweep::train
