// SPDX-License-Identifier: Apache-2.0
// A folder of JPEG images, one folder a class, as torchvision.datasets.ImageFolder sees it. Read
// when the sweep file is read and again by the trial process; knows nothing of pixels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace batchsweep::sweeps {

struct ImageFolder {
  struct Image {
    std::string path;
    std::int32_t label = 0;  // index of its class
  };
  std::vector<std::string> classes;  // names of the folders, in byte order
  std::vector<Image> images;         // class by class, each in the order of its folders and names
};

// Throws UsageError with a sentence where the folder is none that can be trained on: no class
// folders, one only, or a class without an image; std::filesystem::filesystem_error where it cannot
// be read.
[[nodiscard]] ImageFolder read_image_folder(const std::string& path);

}  // namespace batchsweep::sweeps
