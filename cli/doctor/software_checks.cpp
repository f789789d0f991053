// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/software_checks.hpp"

#include <fmt/format.h>

#include <charconv>
#include <sstream>

#include "base/json.hpp"

namespace batchsweep::cli {
namespace {

constexpr int kOldestDriver = 580;
constexpr double kLowestCapability = 7.5;

// The first number with dots at or behind `from`: "4.1.4".
std::string version_behind(std::string_view text, std::size_t from) {
  const std::size_t start = text.find_first_of("0123456789", from);
  if (start == std::string_view::npos) return "";
  const std::size_t end = text.find_first_not_of("0123456789.", start);
  return std::string(text.substr(start, end == std::string_view::npos ? end : end - start));
}

std::string major_of(const std::string& version) { return version.substr(0, version.find('.')); }

std::string last_line(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  const std::size_t newline = text.rfind('\n');
  return std::string(newline == std::string_view::npos ? text : text.substr(newline + 1));
}

std::optional<double> number_of(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  return value;
}

std::string how_it_ended(const Captured& captured) {
  if (captured.timed_out) return fmt::format("no end after {:.0f} s", captured.seconds);
  if (captured.exit_code) return fmt::format("exit code {}", *captured.exit_code);
  return "ended by a signal";
}

}  // namespace

MpiVersion parse_mpi_version(std::string_view text) {
  if (const std::size_t at = text.find("Open MPI"); at != std::string_view::npos)
    return {"Open MPI", version_behind(text, at)};
  if (const std::size_t at = text.find("Intel(R) MPI"); at != std::string_view::npos)
    return {"Intel MPI", version_behind(text, at)};
  for (const std::string_view mark : {"MPICH Version:", "HYDRA build details:"}) {
    if (const std::size_t at = text.find(mark); at != std::string_view::npos)
      return {"MPICH", version_behind(text, at)};
  }
  return {};
}

Finding judge_launcher(std::string_view library_says, const Captured& mpirun_version) {
  const MpiVersion library = parse_mpi_version(library_says);
  Finding finding{"mpi launcher", Level::kOk, "", ""};
  if (!mpirun_version.started) {
    finding.level = Level::kWarning;
    finding.message =
        "mpirun is not in PATH: sweeps run alone, or under srun, but not under mpirun";
    finding.cure = "install openmpi-bin, or load the MPI module that batchsweep was built with";
    return finding;
  }
  const MpiVersion launcher = parse_mpi_version(mpirun_version.output);
  finding.message = fmt::format("mpirun of {} {}, linked with {} {}",
                                launcher.family.empty() ? "an unknown MPI" : launcher.family,
                                launcher.version, library.family, library.version);
  if (launcher.family != library.family) {
    finding.level = launcher.family.empty() ? Level::kWarning : Level::kError;
    finding.cure =
        "put the mpirun of the linked MPI first in PATH (module load ...), or build batchsweep "
        "with this one";
  } else if (launcher.version != library.version) {
    finding.level =
        major_of(launcher.version) != major_of(library.version) ? Level::kError : Level::kWarning;
    finding.cure = fmt::format("use the mpirun of {} {}", library.family, library.version);
  }
  return finding;
}

Finding judge_start(const Captured& started, bool root, bool root_allowed) {
  Finding finding{"mpi start", Level::kOk, "", ""};
  const bool pair = started.output.find("rank 0 of 2, heard from 1 peers") != std::string::npos;
  if (started.succeeded() && pair) {
    finding.message = fmt::format("mpirun -n 2 starts two ranks that hear each other ({:.1f} s)",
                                  started.seconds);
    if (root && !root_allowed) {
      finding.level = Level::kWarning;
      finding.message += ", but it refuses root unless told twice";
      finding.cure = "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1";
    }
    return finding;
  }
  finding.level = Level::kError;
  if (started.output.find("rank 0 of 1") != std::string::npos) {
    finding.message =
        "under mpirun each process believes that it is alone: the launcher is not that of the "
        "linked MPI";
    finding.cure = "use the mpirun of the MPI that batchsweep was built with";
  } else {
    finding.message = fmt::format("mpirun -n 2 does not work ({}): {}", how_it_ended(started),
                                  last_line(started.output));
    finding.cure =
        "try `mpirun --bind-to none -n 2 batchsweep mpi-check` by hand; BATCHSWEEP_LOG=debug says "
        "more";
  }
  return finding;
}

std::optional<TorchVersions> parse_trial_version(std::string_view text) {
  const std::size_t start = text.find('{');
  if (start == std::string_view::npos) return std::nullopt;
  const Json json = Json::parse(text.substr(start), nullptr, false);
  if (!json.is_object()) return std::nullopt;
  // The members stand at the top, or under "software" as in a trial's first event.
  const Json& from =
      json.contains("software") && json["software"].is_object() ? json["software"] : json;
  const auto word = [&](const char* key) {
    const auto it = from.find(key);
    return it != from.end() && it->is_string() ? it->get<std::string>() : std::string();
  };
  TorchVersions versions{word("torch_version"), word("cuda_version"), word("cudnn_version"),
                         word("nccl_version")};
  if (versions.torch.empty()) return std::nullopt;
  return versions;
}

Finding judge_trial(const std::string& program, const Captured& trial_version) {
  Finding finding{"libtorch", Level::kOk, "", ""};
  if (program.empty()) {
    finding.level = Level::kWarning;
    finding.message =
        "batchsweep-trial is not there: plan, report and rehearsals work, real trials do not";
    finding.cure = "build it with scripts/setup, or name another trial program in [[runtime]]";
    return finding;
  }
  const std::optional<TorchVersions> versions = parse_trial_version(trial_version.output);
  if (!trial_version.succeeded() || !versions) {
    finding.level = Level::kError;
    finding.message = fmt::format("{} --about does not work ({}): {}", program,
                                  how_it_ended(trial_version), last_line(trial_version.output));
    finding.cure =
        "a library of LibTorch is probably missing: see `ldd` of it, and build again with "
        "scripts/setup";
    return finding;
  }
  const auto or_none = [](const std::string& version) {
    return version.empty() ? "none" : version;
  };
  finding.message = fmt::format("LibTorch {}, CUDA {}, cuDNN {}, NCCL {} ({})", versions->torch,
                                or_none(versions->cuda), or_none(versions->cudnn),
                                or_none(versions->nccl), program);
  return finding;
}

std::vector<GpuFacts> parse_nvidia_smi(const Captured& smi) {
  std::vector<GpuFacts> gpus;
  if (!smi.succeeded()) return gpus;
  std::istringstream lines(smi.output);
  for (std::string line; std::getline(lines, line);) {
    // From the right: a card's name may hold a comma, the other two never do.
    const std::size_t second = line.rfind(", ");
    if (second == std::string::npos || second == 0) continue;
    const std::size_t first = line.rfind(", ", second - 1);
    if (first == std::string::npos) continue;
    gpus.push_back({line.substr(0, first), line.substr(first + 2, second - first - 2),
                    line.substr(second + 2)});
  }
  return gpus;
}

std::vector<Finding> judge_gpus(const std::vector<GpuFacts>& gpus,
                                const std::optional<TorchVersions>& torch) {
  if (gpus.empty())
    return {{"gpus", Level::kOk, "no NVIDIA GPU is visible: trials run on CPU devices", ""}};
  std::vector<Finding> findings;
  const bool cuda = torch && !torch->cuda.empty();
  if (!cuda) {
    findings.push_back({"gpus", Level::kWarning,
                        fmt::format("{} GPUs, but no batchsweep-trial with CUDA", gpus.size()),
                        "build it with scripts/setup --cuda"});
  }
  const std::string& driver = gpus.front().driver_version;
  Finding driver_finding{"nvidia driver", Level::kOk, "driver " + driver, ""};
  if (const auto major = number_of(major_of(driver)); cuda && (!major || *major < kOldestDriver)) {
    driver_finding.level = Level::kError;
    driver_finding.message +=
        fmt::format(": CUDA {} needs {} or newer", torch->cuda, kOldestDriver);
    driver_finding.cure = "update the driver, or declare a [[runtime]] built on an older LibTorch";
  }
  findings.push_back(driver_finding);
  for (const GpuFacts& gpu : gpus) {
    Finding finding{"gpu", Level::kOk,
                    fmt::format("{}, compute capability {}", gpu.name, gpu.compute_capability), ""};
    if (const auto capability = number_of(gpu.compute_capability);
        !capability || *capability < kLowestCapability) {
      finding.level = Level::kError;
      finding.message += fmt::format(": LibTorch needs {} or higher", kLowestCapability);
      finding.cure = "declare a [[runtime]] built on an older LibTorch for this GPU";
    }
    findings.push_back(finding);
  }
  return findings;
}

Finding judge_slurm(const Captured& srun_version, const Captured& srun_mpi_list) {
  if (!srun_version.started) return {"slurm", Level::kOk, "no Slurm here", ""};
  Finding finding{"slurm", Level::kOk, last_line(srun_version.output), ""};
  if (!srun_version.succeeded()) {
    finding.level = Level::kWarning;
    finding.message = "srun does not work: " + finding.message;
    finding.cure = "ask the site; without Slurm sweeps run alone or under mpirun";
  } else if (srun_mpi_list.output.find("pmix") != std::string::npos) {
    finding.message += ", srun --mpi=pmix is offered";
  } else {
    finding.level = Level::kWarning;
    finding.message +=
        ", but srun --mpi=list names no pmix: under srun every rank would believe that it is alone";
    finding.cure = "launch with mpirun inside the job, or have Slurm's PMIx plugin installed";
  }
  return finding;
}

}  // namespace batchsweep::cli
