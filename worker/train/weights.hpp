// SPDX-License-Identifier: Apache-2.0
// Fills a model from a safetensors file with published names.
#pragma once

#include <string>

#include "worker/train/parameters.hpp"

namespace batchsweep::train {

enum class Missing { kRefused, kAllowed };

// Copies every tensor of the file into the parameter or buffer of its name, in the model's own
// type. Throws TrialFailed where names or shapes differ, or where a weight is not finite, naming
// the first of each kind. kAllowed: what only one of the two has is left alone; at least one tensor
// must fit.
void load_weights(const Parameters& parameters, const std::string& path, Missing missing);

}  // namespace batchsweep::train
