// SPDX-License-Identifier: Apache-2.0
#include "worker/train/data/data_source.hpp"

#include <fmt/format.h>

#include "worker/train/trial_errors.hpp"

namespace batchsweep::train {

std::unique_ptr<DataSource> open_data(const DataRequest& request) {
  const std::string& data = request.spec.data;
  if (data == "synthetic") return open_synthetic(request);
  if (data == "fashion-mnist") return open_fashion_mnist(request);
  if (data.starts_with("images:")) return open_images(request);
  if (data.starts_with("text:")) return open_text(request);
  if (data.starts_with("tokens:")) return open_tokens(request);
  if (data.starts_with("tensors:")) return open_tensors(request);
  throw TrialFailed(fmt::format(
      "this batchsweep-trial has no data '{}': it has synthetic, fashion-mnist, images:DIR, "
      "text:FILE, tokens:FILE and tensors:FILE.safetensors",
      data));
}

}  // namespace batchsweep::train
