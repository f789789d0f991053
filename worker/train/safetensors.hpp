// SPDX-License-Identifier: Apache-2.0
// Reads a safetensors file: eight bytes with the length of a JSON header, the header (name ->
// dtype, shape, byte range), then the bytes. https://github.com/huggingface/safetensors, format.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>

namespace batchsweep::train {

// Tensors on the CPU over the mapped file: nothing is read before it is used, and each keeps the
// mapping alive. Throws TrialFailed for a file that cannot be read or is not whole: a header longer
// than the file, ranges outside of it or not of the tensor's size, dtypes that LibTorch lacks.
[[nodiscard]] std::map<std::string, at::Tensor> read_safetensors(const std::string& path);

}  // namespace batchsweep::train
