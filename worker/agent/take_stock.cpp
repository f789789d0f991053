// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <map>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/hash.hpp"
#include "base/json.hpp"
#include "base/units.hpp"
#include "worker/agent/cgroup.hpp"
#include "worker/agent/child_environment.hpp"
#include "worker/agent/cpu_set.hpp"
#include "worker/agent/device_inventory.hpp"
#include "worker/agent/spawn.hpp"

namespace batchsweep::agent {
namespace {

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::string host_name(int mpi_rank) {
  utsname names{};
  uname(&names);
  std::string name = names.nodename;
  if (const auto node = variable("SLURMD_NODENAME")) name = *node;
  if (const auto own = variable("BATCHSWEEP_HOST")) name = *own;
  if (const std::size_t at = name.find("%r"); at != std::string::npos)
    name.replace(at, 2, std::to_string(mpi_rank));
  return name;
}

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name"))
      return line.substr(std::min(line.find(": ") + 2, line.size()));
  }
  return "";
}

// From /proc/meminfo, in bytes.
std::uint64_t memory_info(std::string_view key) {
  std::ifstream info("/proc/meminfo");
  std::string name, unit;
  std::uint64_t kibibytes = 0;
  while (info >> name >> kibibytes) {
    std::getline(info, unit);
    if (name == key) return kibibytes * 1024;
  }
  return 0;
}

struct Space {
  double size_bytes, free_bytes;
};
std::optional<Space> space_of(const char* path) {
  struct statvfs info {};
  if (statvfs(path, &info) != 0) return std::nullopt;
  const double unit = static_cast<double>(info.f_frsize);
  return Space{unit * static_cast<double>(info.f_blocks),
               unit * static_cast<double>(info.f_bavail)};
}

// What the child says on standard output; nullopt when it has not ended in time.
std::optional<std::string> output_within(const SpawnRequest& request, int read_end,
                                         UniqueFd write_end, double limit_s) {
  const Spawned child = spawn(request);
  write_end.reset();  // only the child has it now: its end is our end of file
  std::string text;
  const Instant deadline = system_clock().now() + seconds(limit_s);
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - system_clock().now())
            .count();
    pollfd wanted{read_end, POLLIN, 0};
    const int ready = left > 0 ? poll(&wanted, 1, static_cast<int>(left)) : 0;
    if (ready < 0 && errno == EINTR) continue;
    char buffer[4096];
    const ssize_t n = ready > 0 ? read(read_end, buffer, sizeof buffer) : -1;
    if (n > 0) {
      text.append(buffer, static_cast<std::size_t>(n));
      continue;
    }
    kill(child.pid, SIGKILL);
    waitpid(child.pid, nullptr,
            n == 0 ? 0 : WNOHANG);  // one that hangs in the kernel must not hang us
    return n == 0 ? std::optional(text) : std::nullopt;
  }
}

std::optional<std::string> ask_probe(const std::string& program, double limit_s) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw_errno("cannot make a pipe", errno);
  const UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  const UniqueFd nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
  SpawnRequest request{.program = program,
                       .arguments = {program, "probe"},
                       .standard_input = nothing.get(),
                       .output = write_end.get()};
  for (const auto& [name, value] : own_environment())
    request.environment.push_back(name + '=' + value);
  return output_within(request, read_end.get(), std::move(write_end), limit_s);
}

FoundGpu gpu_from_json(const Json& json) {
  return {.uuid = json.at("uuid"),
          .driver_name = json.at("driver_name"),
          .pci_bus_id = json.at("pci_bus_id"),
          .compute_capability = json.at("compute_capability"),
          .driver_version = json.at("driver_version"),
          .memory_bytes = json.at("memory_bytes"),
          .used_bytes = json.at("used_bytes").is_null()
                            ? std::nullopt
                            : std::optional<std::uint64_t>(json.at("used_bytes")),
          .processes = json.at("processes"),
          .prohibited = json.at("prohibited")};
}

void find_gpus(FoundHost& host, const std::string& program, double limit_s) {
  std::optional<std::string> answer;
  try {
    answer = ask_probe(program, limit_s);
    if (!answer) {
      host.notices.push_back(
          fmt::format("the NVIDIA driver did not answer within {}: no GPUs are offered; look at "
                      "nvidia-smi and at "
                      "the kernel's log for a sick card",
                      format_seconds(limit_s)));
      return;
    }
    const Json json = Json::parse(*answer);
    std::vector<FoundGpu> gpus;
    for (const Json& gpu : json.at("gpus")) gpus.push_back(gpu_from_json(gpu));
    for (const Json& notice : json.at("notices")) host.notices.push_back(notice);
    host.gpus = visible_gpus(std::move(gpus), variable("CUDA_VISIBLE_DEVICES"), host.notices);
    for (const FoundGpu& gpu : host.gpus) {
      if (const auto mismatch = memory_mismatch(gpu)) host.notices.push_back(*mismatch);
    }
  } catch (const Json::exception&) {
    host.notices.push_back(
        fmt::format("looking for GPUs failed, none are offered: {}", answer->substr(0, 200)));
  } catch (const IoError& error) {
    host.notices.push_back(
        fmt::format("looking for GPUs failed, none are offered: {}", error.what()));
  }
}

// "2 x NVIDIA H100 PCIe, 1 x ..."
std::string gpu_summary(const std::vector<FoundGpu>& gpus) {
  std::map<std::string, int> counts;
  for (const FoundGpu& gpu : gpus) ++counts[gpu.driver_name];
  std::string text;
  for (const auto& [name, count] : counts)
    text += fmt::format("{}{} x {}", text.empty() ? "" : ", ", count, name);
  return text;
}

// Over what stays the same between two starts: free disk space would make a new host of it each
// time.
std::string host_id(const results::HostRecord& host) {
  const auto number = [](const results::Number& value) {
    return value ? fmt::format("{}", *value) : "";
  };
  return fmt::format(
      "{:016x}", sha256_prefix(fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}", host.hostname,
                                           host.cpu_name, host.cpus_allowed, host.kernel, host.gpus,
                                           number(host.cores_allowed), number(host.memory_bytes),
                                           number(host.shm_bytes))));
}

}  // namespace

std::optional<std::vector<FoundGpu>> gpus_of_probe(const std::string& answer) {
  // A driver may print words of its own before.
  const std::size_t begin = answer.find("{\"gpus\"");
  if (begin == std::string::npos) return std::nullopt;
  try {
    std::vector<FoundGpu> gpus;
    const Json json = Json::parse(answer.substr(begin));
    for (const Json& gpu : json.at("gpus")) gpus.push_back(gpu_from_json(gpu));
    return gpus;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

FoundHost take_stock(int mpi_rank, const std::string& batchsweep_program, double probe_limit_s) {
  widen_cpu_set_under_mpirun();
  FoundHost host;
  host.name = host_name(mpi_rank);
  host.cores_allowed = cores_allowed();
  host.memory_available_bytes = memory_info("MemAvailable:");
  if (const auto left = cgroup_memory_left_bytes())
    host.memory_available_bytes = std::min(host.memory_available_bytes, *left);
  find_gpus(host, batchsweep_program, probe_limit_s);

  utsname names{};
  uname(&names);
  results::HostRecord& record = host.record;
  record.hostname = host.name;
  record.cpu_name = cpu_name();
  record.cpus_allowed = cpus_allowed();
  record.kernel = fmt::format("{} {}", names.sysname, names.release);
  record.gpus = gpu_summary(host.gpus);
  record.cores_allowed = static_cast<double>(host.cores_allowed);
  if (const auto total = memory_info("MemTotal:")) record.memory_bytes = static_cast<double>(total);
  if (const auto shm = space_of("/dev/shm")) record.shm_bytes = shm->size_bytes;
  if (const auto disk = space_of(".")) record.disk_free_bytes = disk->free_bytes;
  record.id = host_id(record);
  return host;
}

}  // namespace batchsweep::agent
