// SPDX-License-Identifier: Apache-2.0
// In place of cuda_device.cpp where the program is built without CUDA.
#include "worker/train/device.hpp"
#include "worker/train/trial_errors.hpp"

namespace batchsweep::train {

std::unique_ptr<Device> open_cuda_device(const protocol::TrialDevice& device) {
  throw Unsupported("this batchsweep-trial is built without CUDA and cannot use " + device.type +
                    ": build with scripts/setup --cuda");
}

CudaVersions cuda_versions() { return {}; }

}  // namespace batchsweep::train
