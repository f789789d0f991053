// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/hash.hpp"
#include "sweeps/image_folder.hpp"
#include "sweeps/read_sections.hpp"

namespace batchsweep::sweeps {
namespace {

namespace fs = std::filesystem;

constexpr auto kBuiltIn = std::to_array<std::string_view>({"synthetic", "fashion-mnist"});
struct FileKind {
  std::string_view prefix;
  bool folder;
  std::string_view suffix;
};
constexpr auto kFileKinds = std::to_array<FileKind>({{"images:", true, ""},
                                                     {"text:", false, ""},
                                                     {"tokens:", false, ""},
                                                     {"tensors:", false, ".safetensors"}});

// A folder's content is known by names and sizes: hashing a million images at every start would
// take longer than the sweep.
std::string hash_images(const std::string& path) {
  std::vector<std::string> lines;
  constexpr auto kOptions = fs::directory_options::follow_directory_symlink;
  for (const auto& entry : fs::recursive_directory_iterator(path, kOptions)) {
    if (!entry.is_regular_file()) continue;
    lines.push_back(
        fmt::format("{}\n{}\n", entry.path().lexically_relative(path).string(), entry.file_size()));
  }
  std::sort(lines.begin(), lines.end());
  return hex(sha256(fmt::format("{}", fmt::join(lines, ""))));
}

// "" after a finding.
std::string hash_content(bool folder, const std::string& path, const Place& place,
                         const std::string& key, ReadContext& context) {
  std::error_code error;
  const bool there = folder ? fs::is_directory(path, error) : fs::is_regular_file(path, error);
  if (!there) {
    if (!context.rehearsal)
      context.findings.add(place, key,
                           fmt::format("no such {}: {}", folder ? "folder" : "file", path));
    // A rehearsal does not read it: its name stands for the content.
    return context.rehearsal ? hex(sha256(path)) : std::string();
  }
  try {
    // Throws where nothing could be trained on it.
    if (folder && !context.rehearsal) (void)read_image_folder(path);
    return folder ? hash_images(path) : hex(sha256_file(path));
  } catch (const std::exception& failure) {
    context.findings.add(place, key, failure.what());
    return "";
  }
}

}  // namespace

std::optional<std::string> read_path(const std::string& name, bool folder, const Place& place,
                                     const std::string& key, ReadContext& context) {
  // What was typed on the command line is meant from the current folder, what stands in a file
  // from that file's.
  const bool typed = place.file && place.file->starts_with("--set");
  const fs::path from = typed ? context.typed_folder : context.folder;
  const std::string path = (from / name).lexically_normal().string();
  if (!context.file_hashes.contains(path)) {
    std::string hash = hash_content(folder, path, place, key, context);
    if (hash.empty()) return std::nullopt;
    context.file_hashes.emplace(path, std::move(hash));
  }
  return path;
}

std::optional<std::string> read_data_source(const std::string& text, const Place& place,
                                            const std::string& key, ReadContext& context) {
  if (std::find(kBuiltIn.begin(), kBuiltIn.end(), text) != kBuiltIn.end()) return text;
  for (const FileKind& kind : kFileKinds) {
    if (!text.starts_with(kind.prefix)) continue;
    const std::string file = text.substr(kind.prefix.size());
    if (file.empty() || !file.ends_with(kind.suffix)) {
      context.findings.add(place, key,
                           fmt::format("expected {}{}{}, found \"{}\"", kind.prefix,
                                       kind.folder ? "DIR" : "FILE", kind.suffix, text));
      return std::nullopt;
    }
    const auto path = read_path(file, kind.folder, place, key, context);
    return path ? std::optional(std::string(kind.prefix) + *path) : std::nullopt;
  }
  const std::string near = did_you_mean(text, {kBuiltIn.begin(), kBuiltIn.end()});
  context.findings.add(
      place, key,
      fmt::format("expected synthetic, fashion-mnist, images:DIR, text:FILE, tokens:FILE or "
                  "tensors:FILE.safetensors, found \"{}\"{}",
                  text, near));
  return std::nullopt;
}

}  // namespace batchsweep::sweeps
