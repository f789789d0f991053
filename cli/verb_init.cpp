// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "base/unique_handle.hpp"
#include "cli/verbs.hpp"
#include "sweeps/starter_file.hpp"
#include "worker/agent/device_inventory.hpp"

namespace batchsweep::cli {
namespace {

sweeps::StarterMachine this_machine() {
  const agent::FoundHost host = agent::take_stock(0, own_program());
  sweeps::StarterMachine machine{host.name, host.cores_allowed, host.memory_available_bytes, {}};
  for (const agent::FoundGpu& gpu : host.gpus) machine.gpus.push_back(agent::type_of(gpu));
  return machine;
}

// Never over a file that is there: somebody's sweep.
void write_new(const std::string& path, const std::string& text) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file && errno == EEXIST)
    throw UsageError(path + " exists: name another file, or remove it first");
  if (!file) throw_errno("cannot write " + path, errno);
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t n = ::write(file.get(), text.data() + at, text.size() - at);
    if (n < 0 && errno != EINTR) throw_errno("cannot write " + path, errno);
    if (n > 0) at += static_cast<std::size_t>(n);
  }
}

ExitCode init(const std::string& path) {
  std::string name = std::filesystem::path(path).stem().string();
  if (name.empty() || name.front() == '.' || name.front() == '-' ||
      name.find_first_of("\"\\") != std::string::npos)
    name = "sweep";
  write_new(path, sweeps::starter_file(name, this_machine()));
  fmt::print("wrote {}; next: batchsweep plan {}\n", path, path);
  return ExitCode::kDone;
}

}  // namespace

void add_init(CommandLine& line) {
  const auto path = std::make_shared<std::string>("sweep.toml");
  line.add("init", "write a commented sweep file for this machine")
      .optional_positional("FILE", *path, "the file to write (sweep.toml)")
      .example("batchsweep init && batchsweep plan sweep.toml")
      .run([path] { return init(*path); });
}

}  // namespace batchsweep::cli
