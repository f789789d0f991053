// SPDX-License-Identifier: Apache-2.0
#include "sweeps/image_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "base/error.hpp"

namespace batchsweep::sweeps {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path, const std::string& why) {
  throw UsageError(fmt::format("{} {}", path, why));
}

bool is_jpeg_name(const fs::path& path) {
  std::string ending = path.extension().string();
  for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return ending == ".jpg" || ending == ".jpeg";
}

std::vector<std::string> class_names(const std::string& path) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(path)) {
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Folder by folder, as Python's sorted(os.walk()) gives them.
std::vector<std::string> images_below(const fs::path& folder) {
  std::vector<std::pair<std::string, std::string>> found;  // folder, name
  constexpr auto kOptions = fs::directory_options::follow_directory_symlink;
  for (const auto& entry : fs::recursive_directory_iterator(folder, kOptions)) {
    if (is_jpeg_name(entry.path()) && entry.is_regular_file())
      found.emplace_back(entry.path().parent_path().string(), entry.path().filename().string());
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> paths;
  for (const auto& [parent, name] : found) paths.push_back(parent + "/" + name);
  return paths;
}

}  // namespace

ImageFolder read_image_folder(const std::string& path) {
  ImageFolder folder{.classes = class_names(path), .images = {}};
  if (folder.classes.empty())
    fail(path, "holds no class: expected one folder a class with .jpg or .jpeg files in it");
  if (folder.classes.size() == 1) {
    fail(path, fmt::format("holds one class only ({}): there is nothing to tell apart",
                           folder.classes.front()));
  }
  for (std::size_t label = 0; label < folder.classes.size(); ++label) {
    const std::string& name = folder.classes[label];
    const std::vector<std::string> paths = images_below(fs::path(path) / name);
    if (paths.empty()) fail(path, fmt::format("holds no .jpg or .jpeg file of the class {}", name));
    for (const std::string& image : paths)
      folder.images.push_back({image, static_cast<std::int32_t>(label)});
  }
  return folder;
}

}  // namespace batchsweep::sweeps
