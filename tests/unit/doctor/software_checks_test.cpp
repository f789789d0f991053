// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/software_checks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace batchsweep::cli {
namespace {

using testing::HasSubstr;

Captured said(const std::string& output, int exit_code = 0) {
  return {.started = true, .exit_code = exit_code, .output = output, .seconds = 0.5};
}

constexpr const char* kOpenMpiLibrary =
    "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4, May 26, 2022";
constexpr const char* kOpenMpiLauncher =
    "mpirun (Open MPI) 4.1.4\n\nReport bugs to http://www.open-mpi.org/community/help/\n";
constexpr const char* kMpichLauncher =
    "HYDRA build details:\n    Version:                                 4.0.2\n    Release Date:  "
    "Thu Apr  7 12:34:45 CDT 2022\n";

TEST(MpiVersion, IsReadFromLibrariesAndLaunchers) {
  EXPECT_EQ(parse_mpi_version(kOpenMpiLibrary), (MpiVersion{"Open MPI", "4.1.4"}));
  EXPECT_EQ(parse_mpi_version(kOpenMpiLauncher), (MpiVersion{"Open MPI", "4.1.4"}));
  EXPECT_EQ(parse_mpi_version(kMpichLauncher), (MpiVersion{"MPICH", "4.0.2"}));
  EXPECT_EQ(parse_mpi_version("Intel(R) MPI Library for Linux* OS, Version 2021.9 Build 20230306"),
            (MpiVersion{"Intel MPI", "2021.9"}));
  EXPECT_EQ(parse_mpi_version("mpirun: wrapper of this site"), (MpiVersion{}));
}

TEST(Launcher, OfAnotherFamilyOrMajorVersionIsAnError) {
  EXPECT_EQ(judge_launcher(kOpenMpiLibrary, said(kOpenMpiLauncher)).level, Level::kOk);
  EXPECT_EQ(judge_launcher(kOpenMpiLibrary, said("mpirun (Open MPI) 4.1.2\n")).level,
            Level::kWarning);
  EXPECT_EQ(judge_launcher(kOpenMpiLibrary, said("mpirun (Open MPI) 5.0.3\n")).level,
            Level::kError);
  EXPECT_EQ(judge_launcher(kOpenMpiLibrary, said(kMpichLauncher)).level, Level::kError);
  EXPECT_EQ(judge_launcher(kOpenMpiLibrary, said("something else")).level, Level::kWarning);
}

TEST(Launcher, ThatIsAbsentIsAWarningWithACure) {
  const Finding finding = judge_launcher(kOpenMpiLibrary, Captured{});
  EXPECT_EQ(finding.level, Level::kWarning);
  EXPECT_THAT(finding.cure, HasSubstr("openmpi-bin"));
}

TEST(MpiStart, IsFineWhenBothRanksHearEachOther) {
  const Captured pair = said("rank 1 of 2, heard from 1 peers\nrank 0 of 2, heard from 1 peers\n");
  EXPECT_EQ(judge_start(pair, false, false).level, Level::kOk);
  EXPECT_EQ(judge_start(pair, true, true).level, Level::kOk);
  EXPECT_THAT(judge_start(pair, true, false).cure, HasSubstr("OMPI_ALLOW_RUN_AS_ROOT=1"));
}

TEST(MpiStart, TwoLonelyRanksMeanTheWrongLauncher) {
  const Finding finding = judge_start(
      said("rank 0 of 1, heard from 0 peers\nrank 0 of 1, heard from 0 peers\n"), false, false);
  EXPECT_EQ(finding.level, Level::kError);
  EXPECT_THAT(finding.message, HasSubstr("launcher is not that of the linked MPI"));
}

TEST(MpiStart, TellsTheLastLineOfAFailureAndATimeOut) {
  EXPECT_THAT(judge_start(said("blah\nORTE has lost communication\n", 205), false, false).message,
              HasSubstr("(exit code 205): ORTE has lost communication"));
  const Captured hung{
      .started = true, .timed_out = true, .exit_code = {}, .output = "", .seconds = 60};
  EXPECT_THAT(judge_start(hung, false, false).message, HasSubstr("no end after 60 s"));
}

TEST(Trial, VersionsAreReadFromJsonAtTheTopOrUnderSoftware) {
  const auto top = parse_trial_version(
      R"({"torch_version": "2.11.0", "cuda_version": "13.0", "cudnn_version": "9.19.0", "nccl_version": "2.28.9"})");
  ASSERT_TRUE(top);
  EXPECT_EQ(top->cudnn, "9.19.0");
  const auto nested =
      parse_trial_version(R"({"event": "hello", "software": {"torch_version": "2.11.0"}})");
  ASSERT_TRUE(nested);
  EXPECT_EQ(nested->torch, "2.11.0");
  EXPECT_EQ(nested->cuda, "");
  EXPECT_FALSE(parse_trial_version("batchsweep-trial 0.1"));
  EXPECT_FALSE(parse_trial_version("{\"torch_version\": "));
  EXPECT_FALSE(parse_trial_version("{}"));
}

TEST(Trial, AbsentIsAWarningAndBrokenIsAnErrorWithItsLastWords) {
  EXPECT_EQ(judge_trial("", Captured{}).level, Level::kWarning);
  const Finding broken = judge_trial(
      "/x/batchsweep-trial",
      said("/x/batchsweep-trial: error while loading shared libraries: libcupti.so.13: cannot open",
           127));
  EXPECT_EQ(broken.level, Level::kError);
  EXPECT_THAT(broken.message, HasSubstr("libcupti.so.13"));
  EXPECT_EQ(judge_trial("/x/batchsweep-trial", said(R"({"torch_version": "2.11.0"})")).level,
            Level::kOk);
}

TEST(Gpus, AreReadFromTheRightBecauseNamesMayHoldCommas) {
  const std::vector<GpuFacts> gpus =
      parse_nvidia_smi(said("NVIDIA H100, 80GB HBM3, 9.0, 580.65.06\nTesla T4, 7.5, 580.65.06\n"));
  ASSERT_EQ(gpus.size(), 2U);
  EXPECT_EQ(gpus[0].name, "NVIDIA H100, 80GB HBM3");
  EXPECT_EQ(gpus[1].compute_capability, "7.5");
  EXPECT_EQ(gpus[1].driver_version, "580.65.06");
  EXPECT_TRUE(parse_nvidia_smi(
                  said("NVIDIA-SMI has failed because it couldn't communicate with the driver", 9))
                  .empty());
}

TEST(Gpus, NeedDriver580AndCapability75) {
  const TorchVersions torch{"2.11.0", "13.0", "9.19.0", "2.28.9"};
  struct Case {
    const char *driver, *capability;
    Level driver_level, gpu_level;
  };
  for (const Case& c : {Case{"580.65.06", "7.5", Level::kOk, Level::kOk},
                        Case{"579.99", "9.0", Level::kError, Level::kOk},
                        Case{"590.1", "7.0", Level::kOk, Level::kError},
                        Case{"[N/A]", "[N/A]", Level::kError, Level::kError},
                        Case{"610.0", "12.0", Level::kOk, Level::kOk}}) {
    const std::vector<Finding> findings = judge_gpus({{"card", c.capability, c.driver}}, torch);
    ASSERT_EQ(findings.size(), 2U) << c.driver;
    EXPECT_EQ(findings[0].level, c.driver_level) << c.driver;
    EXPECT_EQ(findings[1].level, c.gpu_level) << c.capability;
  }
}

TEST(Gpus, WithoutATrialForThemAreAWarning) {
  const std::vector<Finding> findings =
      judge_gpus({{"card", "9.0", "580.1"}}, TorchVersions{"2.11.0", "", "", ""});
  EXPECT_EQ(findings[0].level, Level::kWarning);
  EXPECT_THAT(findings[0].cure, HasSubstr("--cuda"));
}

TEST(Slurm, NeedsPmixToStartRanks) {
  EXPECT_EQ(judge_slurm(Captured{}, Captured{}).message, "no Slurm here");
  const Captured version = said("slurm-wlm 22.05.8\n");
  EXPECT_EQ(judge_slurm(version, said("MPI plugin types are...\n\tnone\n\tpmi2\n\tpmix\nspecific "
                                      "pmix plugin versions available: pmix_v4\n"))
                .level,
            Level::kOk);
  EXPECT_EQ(judge_slurm(version, said("MPI plugin types are...\n\tnone\n\tpmi2\n")).level,
            Level::kWarning);
  EXPECT_EQ(
      judge_slurm(said("srun: error: Could not establish a configuration source\n", 1), Captured{})
          .level,
      Level::kWarning);
}

}  // namespace
}  // namespace batchsweep::cli
