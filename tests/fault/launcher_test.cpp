// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/launcher.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

#include "base/error.hpp"
#include "process_checks.hpp"
#include "worker/agent/cgroup.hpp"
#include "worker/agent/spawn.hpp"

namespace batchsweep::agent {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const char* const kTag = "file:0123456789abcdef:0:1";

LaunchRequest shell(const std::string& script, const std::string& tag = kTag) {
  return {.command = {"sh", "-c", script}, .input_line = "{}", .attempt_tag = tag};
}
// What a script prints.
std::string printed_by(Launcher& launcher, const std::string& script) {
  const auto process = launcher.launch(shell(script));
  EXPECT_EQ(finish(*process).exit_code, 0) << process->output();
  return process->output();
}
// A number that a running script prints as its first line.
pid_t printed_pid(Process& process) {
  EXPECT_TRUE(eventually([&] {
    (void)process.take_event_lines();
    return process.output().find('\n') != std::string::npos;
  }));
  return std::atoi(process.output().c_str());
}

TEST(ProcessLauncher, GivesATrialAScrubbedEnvironment) {
  setenv("OMPI_COMM_WORLD_RANK", "3", 1);
  setenv("PMIX_RANK", "3", 1);
  setenv("SLURM_PROCID", "3", 1);
  setenv("NCCL_DEBUG", "WARN", 1);
  const auto launcher = make_process_launcher();
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID", "NCCL_DEBUG"})
    unsetenv(name);
  LaunchRequest request = shell("env");
  request.env = {{"NCCL_ALGO", "Ring"}, {"HOME", "/nowhere"}};
  request.visible_devices = "GPU-7";
  const auto process = launcher->launch(request);
  finish(*process);
  const std::string output = '\n' + process->output();
  EXPECT_THAT(output, testing::AllOf(Not(HasSubstr("\nOMPI_")), Not(HasSubstr("\nPMIX_")),
                                     Not(HasSubstr("\nSLURM_"))));
  EXPECT_THAT(
      output,
      testing::AllOf(HasSubstr("\nNCCL_DEBUG=WARN\n"), HasSubstr("\nNCCL_ALGO=Ring\n"),
                     HasSubstr("\nHOME=/nowhere\n"), HasSubstr("\nCUDA_VISIBLE_DEVICES=GPU-7\n"),
                     HasSubstr("\nBATCHSWEEP_EVENT_FD=3\n"),
                     HasSubstr(fmt::format("\nBATCHSWEEP_ATTEMPT={}\n", kTag))));
}

TEST(ProcessLauncher, GivesATrialAPlaceOfItsOwn) {
  const auto launcher = make_process_launcher();
  EXPECT_EQ(printed_by(*launcher, "ulimit -c"), "0\n");
  EXPECT_EQ(printed_by(*launcher, "kill -INT $$; kill -USR1 $$; echo alive"), "alive\n");
  EXPECT_EQ(printed_by(*launcher,
                       "read session < /proc/self/stat; set -- $session; [ $6 = $$ ] && [ $5 = $$ "
                       "] && echo leader"),
            "leader\n");
  std::ifstream own("/proc/self/oom_score_adj");
  int before = 0;
  own >> before;
  EXPECT_EQ(printed_by(*launcher, "cat /proc/self/oom_score_adj"), "800\n");
  own.seekg(0);
  int after = 0;
  own >> after;
  EXPECT_EQ(after, before);  // the child's, never ours
}

TEST(ProcessLauncher, GivesATrialATempFolderThatGoesWithIt) {
  const auto launcher = make_process_launcher();
  auto process = launcher->launch(
      shell("stat -c %a $TMPDIR; mkdir $TMPDIR/sub; touch $TMPDIR/sub/file; echo $TMPDIR"));
  finish(*process);
  const std::string output = process->output();
  ASSERT_TRUE(output.starts_with("700\n/")) << output;
  const std::string folder = output.substr(4, output.size() - 5);
  EXPECT_EQ(access(folder.c_str(), F_OK), 0);
  process.reset();
  EXPECT_NE(access(folder.c_str(), F_OK), 0);
}

TEST(ProcessLauncher, PassesTheInputHoweverLong) {
  const auto launcher = make_process_launcher();
  LaunchRequest request = shell("wc -c");
  request.input_line = std::string(3'000'000, 'x');
  const auto process = launcher->launch(request);
  finish(*process);
  EXPECT_EQ(process->output(), "3000001\n");
  const auto deaf = launcher->launch({.command = {"true"}, .input_line = request.input_line});
  EXPECT_EQ(finish(*deaf).exit_code, 0);
}

TEST(ProcessLauncher, KeepsTheInputOpenForASecondLineWhereOneIsToCome) {
  const auto launcher = make_process_launcher();
  LaunchRequest request =
      shell("read -r one; echo $one; read -r two; echo $two; read -r three || echo end");
  request.second_line = true;
  const auto process = launcher->launch(request);
  EXPECT_TRUE(eventually([&] {
    (void)process->take_event_lines();
    return process->output() == "{}\n";
  }));
  process->give_line("second");
  finish(*process);
  EXPECT_EQ(process->output(), "{}\nsecond\nend\n");
  process->give_line("third, to nobody");
}

TEST(ProcessLauncher, KeepsHeadAndTailOfALongOutput) {
  const auto launcher = make_process_launcher();
  const auto process = launcher->launch(shell("echo first; seq 1000000 1200000; echo last >&2"));
  finish(*process);
  const std::string output = process->output();
  EXPECT_TRUE(output.starts_with("first\n1000000\n"));
  EXPECT_TRUE(output.ends_with("1200000\nlast\n"));
  EXPECT_THAT(output, HasSubstr("bytes left out"));
  EXPECT_LT(output.size(), 66'000U);
}

TEST(ProcessLauncher, ReadsWholeEventLinesAndKeepsTheHalfOne) {
  const auto launcher = make_process_launcher();
  const auto process = launcher->launch(shell("printf 'one\\ntwo\\nhal' >&3; kill -KILL $$"));
  std::vector<std::string> lines;
  std::optional<ExitStatus> status;
  ASSERT_TRUE(eventually([&] { return (status = process->poll_exit()).has_value(); }));
  EXPECT_EQ(process->take_event_lines(), (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(process->partial_line(), "hal");
  EXPECT_EQ(status->signal, SIGKILL);
  EXPECT_FALSE(status->kernel_oom);
  EXPECT_TRUE(process->kill_tree());
}

TEST(ProcessLauncher, SaysWhyAProgramCannotBeStarted) {
  const auto launcher = make_process_launcher();
  const int before = open_descriptors();
  const auto message = [&](const std::string& program) {
    try {
      (void)launcher->launch({.command = {program}});
    } catch (const IoError& error) {
      return std::string(error.what());
    }
    return std::string("started");
  };
  EXPECT_EQ(message("/no/such/program"),
            "cannot start /no/such/program: No such file or directory");
  EXPECT_EQ(message("/etc/passwd"), "cannot start /etc/passwd: Permission denied");
  EXPECT_EQ(message("no-such-program"), "cannot start no-such-program: not found on PATH");
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_THAT(own_children(), IsEmpty());
}

TEST(ProcessLauncher, LeaksNoDescriptorsOverTwoHundredLaunches) {
  const auto launcher = make_process_launcher();
  // A descriptor of ours without close-on-exec, as libraries make them.
  const int ours = open("/dev/null", O_RDONLY);
  const int before = open_descriptors();
  for (int i = 0; i < 200; ++i) {
    const auto process =
        launcher->launch({.command = {"true"}, .input_line = "{}", .attempt_tag = kTag});
    ASSERT_EQ(finish(*process).exit_code, 0);
  }
  EXPECT_EQ(open_descriptors(), before);
  const auto list = launcher->launch({.command = {"ls", "/proc/self/fd"}});
  finish(*list);
  EXPECT_EQ(list->output(), "0\n1\n2\n3\n4\n");  // 4 is ls's own look at the folder
  close(ours);
  EXPECT_THAT(own_children(), IsEmpty());
}

TEST(ProcessLauncher, HuntsDownAGrandchildInItsOwnSession) {
  const auto launcher = make_process_launcher();
  // Without our tag as well: only that it became our child gives it away.
  const auto process =
      launcher->launch(shell("setsid env -i sleep 1000 > /dev/null 3>&- & echo $!"));
  finish(*process);
  const pid_t grandchild = std::atoi(process->output().c_str());
  ASSERT_GT(grandchild, 0);
  EXPECT_TRUE(is_dead(grandchild));
}

TEST(ProcessLauncher, HuntsItDownWhileOtherTrialsGoOnAndSparesTheirs) {
  const auto launcher = make_process_launcher();
  const auto living = launcher->launch(
      shell("(setsid sleep 1001 & echo $!); exec sleep 1002", "file:00000000000000aa:0:1"));
  const pid_t spared = printed_pid(*living);
  const auto process = launcher->launch(shell("setsid sleep 1003 > /dev/null 3>&- & echo $!"));
  finish(*process);
  const pid_t orphan = std::atoi(process->output().c_str());
  EXPECT_TRUE(eventually([&] {
    launcher->tend();
    return is_dead(orphan);
  }));
  EXPECT_FALSE(is_dead(spared));
  EXPECT_FALSE(living->poll_exit());
  EXPECT_TRUE(eventually([&] { return living->kill_tree(); }));
  EXPECT_TRUE(is_dead(spared));
  EXPECT_TRUE(is_dead(living->pid()));
}

TEST(ProcessLauncher, KillsAWholeTreeAlsoAStoppedOne) {
  const auto launcher = make_process_launcher();
  const auto process = launcher->launch(shell(
      "setsid sh -c 'setsid sleep 1004 & echo $!; kill -STOP $$' & sleep 1005 & kill -STOP $$"));
  const pid_t deepest = printed_pid(*process);
  ASSERT_TRUE(eventually([&] { return read_stat(process->pid())->state == 'T'; }));
  EXPECT_FALSE(process->poll_exit());
  EXPECT_TRUE(eventually([&] { return process->kill_tree(); }));
  EXPECT_EQ(process->poll_exit()->signal, SIGKILL);
  EXPECT_TRUE(is_dead(deepest));
  EXPECT_THAT(tagged_processes(kAttemptVariable, kTag), IsEmpty());
  EXPECT_THAT(own_children(), IsEmpty());
}

// Another process that has launched a program, as an agent does.
struct OtherAgent {
  explicit OtherAgent(const std::string& script) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw_errno("pipe", errno);
    const UniqueFd reader(ends[0]);
    UniqueFd writer(ends[1]);
    agent = spawn({.program = HELPER,
                   .arguments = {HELPER, "launch", "sh", "-c", script},
                   .environment = {fmt::format("PATH={}", std::getenv("PATH")),
                                   fmt::format("TMPDIR={}", testing::TempDir())},
                   .standard_input = ends[0],
                   .output = ends[1]});
    writer.reset();
    char text[32] = {};
    if (read(ends[0], text, sizeof text - 1) > 0) trial = std::atoi(text);
  }
  ~OtherAgent() { die(); }
  void die() {
    if (agent.pid < 0) return;
    kill(agent.pid, SIGKILL);
    waitpid(agent.pid, nullptr, 0);
    agent.pid = -1;
  }
  Spawned agent;
  pid_t trial = 0;
};

TEST(ProcessLauncher, ATrialDiesWithItsAgent) {
  OtherAgent other("exec sleep 1006");
  ASSERT_GT(other.trial, 0);
  EXPECT_FALSE(is_dead(other.trial));
  other.die();
  EXPECT_TRUE(eventually([&] { return is_dead(other.trial); }));
  EXPECT_TRUE(eventually(all_children_reaped));
}

TEST(Leftovers, OfDeadAgentsAreKilledAndThoseOfLivingOnesAreNot) {
  const std::string script = "setsid sleep 1007 & wait";
  OtherAgent dead(script), living(script);
  const auto sleeper_of = [](const OtherAgent& other) {
    pid_t found = 0;
    EXPECT_TRUE(eventually([&] {
      for (const pid_t pid : tagged_processes(kAttemptVariable, kTag)) {
        const auto stat = read_stat(pid);
        if (stat && stat->session == pid && stat->parent == other.trial) found = pid;
      }
      return found != 0;
    }));
    return found;
  };
  const pid_t leftover = sleeper_of(dead), untouched = sleeper_of(living);
  dead.die();
  ASSERT_TRUE(eventually([&] { return is_dead(dead.trial); }));
  ASSERT_FALSE(is_dead(leftover));  // its own session: PDEATHSIG reaches the direct child only

  EXPECT_THAT(kill_leftovers(), testing::Contains(testing::AllOf(
                                    HasSubstr(std::to_string(leftover)), HasSubstr(kTag))));
  EXPECT_TRUE(eventually([&] { return is_dead(leftover); }));
  EXPECT_FALSE(is_dead(untouched));
  EXPECT_FALSE(is_dead(living.trial));
  kill(untouched, SIGKILL);
  living.die();
  EXPECT_TRUE(eventually(all_children_reaped));
}

// In a memory group of its own, where the machine lets us make one, the kernel's killer is real.
TEST(KernelOutOfMemory, IsToldFromOtherKillsByTheGroupsCounter) {
  const std::string counter = cgroup_file("memory.events", "memory", "memory.oom_control");
  const std::string group =
      fmt::format("{}/batchsweep-test-{}", counter.substr(0, counter.rfind('/')), getpid());
  if (counter.empty() || mkdir(group.c_str(), 0700) != 0)
    GTEST_SKIP() << "no memory group can be made here";
  for (const char* file : {"memory.max", "memory.limit_in_bytes"}) {
    if (access((group + '/' + file).c_str(), W_OK) == 0)
      std::ofstream(group + '/' + file) << (64 << 20);
  }
  const int status = std::system(fmt::format("{} oom {}/cgroup.procs", HELPER, group).c_str());
  rmdir(group.c_str());
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "this process may not enter the memory group";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace batchsweep::agent
