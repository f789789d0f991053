// SPDX-License-Identifier: Apache-2.0
// The text of sweeps/gpu_catalogue.csv, put into the program at build time. Only gpu_catalogue.cpp reads it.
#pragma once

#include <string_view>

namespace batchsweep::sweeps {

extern const std::string_view kGpuCatalogueCsv;

}  // namespace batchsweep::sweeps
