// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cstdio>
#include <fstream>

#include "worker/agent/child_environment.hpp"
#include "worker/agent/kept_output.hpp"
#include "worker/agent/oom_counter.hpp"

namespace batchsweep::agent {
namespace {

TEST(ChildEnvironment, LosesLaunchersAndWhatTheAgentSets) {
  const Environment before = {{"OMPI_X", "1"},
                              {"PMIX_X", "1"},
                              {"PMI_X", "1"},
                              {"PRTE_X", "1"},
                              {"ORTE_X", "1"},
                              {"SLURM_X", "1"},
                              {"TMPDIR", "/x"},
                              {"CUDA_VISIBLE_DEVICES", "0"},
                              {"BATCHSWEEP_EVENT_FD", "9"},
                              {"BATCHSWEEP_ATTEMPT", "a"},
                              {"BATCHSWEEP_AGENT", "b"},
                              {"PATH", "/bin"},
                              {"NCCL_ALGO", "Ring"},
                              {"MY_SLURM_X", "1"}};
  EXPECT_EQ(scrubbed(before),
            (Environment{{"PATH", "/bin"}, {"NCCL_ALGO", "Ring"}, {"MY_SLURM_X", "1"}}));
}

TEST(ChildEnvironment, RecordsWhatChangesTheNumbers) {
  EXPECT_EQ(recorded_variables({{"NCCL_ALGO", "Ring"},
                                {"OMP_NUM_THREADS", "2"},
                                {"PATH", "/bin"},
                                {"CUDA_VISIBLE_DEVICES", "GPU-1"},
                                {"LD_PRELOAD", "x.so"},
                                {"MKL_A", "1"},
                                {"GLOO_A", "1"},
                                {"TORCH_A", "1"},
                                {"PYTORCH_A", "1"},
                                {"DNNL_A", "1"},
                                {"CUDA_A", "1"}}),
            "CUDA_A=1\nDNNL_A=1\nGLOO_A=1\nLD_PRELOAD=x.so\nMKL_A=1\nNCCL_ALGO=Ring\nOMP_NUM_"
            "THREADS=2\nPYTORCH_A=1\nTORCH_A=1\n");
}

TEST(KeptOutput, IsWholeUntilItIsTooLong) {
  KeptOutput kept;
  kept.add("abc");
  kept.add("def\n");
  EXPECT_EQ(kept.text(), "abcdef\n");
}

TEST(KeptOutput, KeepsFirstAndLastHoweverItArrives) {
  const std::string all = std::string(KeptOutput::kHead, 'h') + std::string(500'000, 'm') +
                          std::string(KeptOutput::kTail, 't');
  for (const std::size_t piece : {std::size_t{1} << 20, std::size_t{1000}, std::size_t{40'000}}) {
    KeptOutput kept;
    for (std::size_t at = 0; at < all.size(); at += piece) kept.add(all.substr(at, piece));
    EXPECT_EQ(kept.text(), std::string(KeptOutput::kHead, 'h') +
                               "\n... 500000 bytes left out ...\n" +
                               std::string(KeptOutput::kTail, 't'));
  }
}

TEST(OomCounter, TellsEachKillOnceAndForgetsThoseBeforeALaunch) {
  const std::string path = testing::TempDir() + "/memory.events";
  const auto write = [&](int kills) {
    std::ofstream(path) << "low 0\nhigh 0\nmax 12\noom 3\noom_kill " << kills << "\n";
  };
  write(1);
  OomCounter counter(path);
  EXPECT_FALSE(counter.take_one());
  write(3);
  EXPECT_TRUE(counter.take_one());
  EXPECT_TRUE(counter.take_one());
  EXPECT_FALSE(counter.take_one());
  write(4);
  counter.refresh();
  EXPECT_FALSE(counter.take_one());
  std::remove(path.c_str());
  EXPECT_FALSE(OomCounter(path).take_one());
}

}  // namespace
}  // namespace batchsweep::agent
