// SPDX-License-Identifier: Apache-2.0
// Writes a safetensors file for Python to read. Tests only: trials keep no tensors.
#pragma once

#include <ATen/ATen.h>

#include <cstring>
#include <fstream>
#include <map>
#include <string>

#include "base/json.hpp"

namespace batchsweep::train {

// Of fp32 and int64 tensors; others become fp32.
inline void write_safetensors(const std::string& path,
                              const std::map<std::string, at::Tensor>& tensors) {
  Json header = Json::object();
  std::vector<at::Tensor> whole;
  std::size_t begin = 0;
  for (const auto& [name, tensor] : tensors) {
    const bool integers = tensor.scalar_type() == at::kLong;
    whole.push_back(tensor.detach().to(integers ? at::kLong : at::kFloat).contiguous());
    const std::size_t end = begin + whole.back().nbytes();
    header[name] = {{"dtype", integers ? "I64" : "F32"},
                    {"shape", tensor.sizes().vec()},
                    {"data_offsets", {begin, end}}};
    begin = end;
  }
  const std::string text = header.dump();
  const std::uint64_t length = text.size();
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(&length), sizeof length);
  file << text;
  for (const at::Tensor& tensor : whole) {
    file.write(static_cast<const char*>(tensor.const_data_ptr()),
               static_cast<std::streamsize>(tensor.nbytes()));
  }
}

}  // namespace batchsweep::train
