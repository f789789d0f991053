// SPDX-License-Identifier: Apache-2.0
#include "results/store/lock_file.hpp"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "base/error.hpp"
#include "store_fixtures.hpp"

namespace batchsweep::results {
namespace {

constexpr LockPatience kQuick{.stale_after = std::chrono::milliseconds(60),
                              .look_every = std::chrono::milliseconds(5)};

class LockFileTest : public testing::Test {
 protected:
  // By rename: nobody reads half a lock.
  void written_by(const LockHolder& holder) {
    write_file(path_ + ".lock.new", lock_text(holder));
    std::filesystem::rename(path_ + ".lock.new", path_ + ".lock");
  }
  // A holder that bumps its counter until the end of the test's scope.
  [[nodiscard]] std::jthread beating(LockHolder holder) {
    return std::jthread([this, holder](const std::stop_token& stop) mutable {
      for (; !stop.stop_requested(); ++holder.counter) {
        written_by(holder);
        std::this_thread::yield();
      }
    });
  }
  [[nodiscard]] std::string refusal(const LockHolder& self = this_process()) {
    try {
      const LockFile lock(path_, self, kQuick);
      return "";
    } catch (const ResultsFileError& error) {
      return error.what();
    }
  }
  // A pid that is surely no process: of a child that has ended and was collected.
  static pid_t dead_pid() {
    const pid_t pid = ::fork();
    if (pid == 0) ::_exit(0);
    ::waitpid(pid, nullptr, 0);
    return pid;
  }

  TemporaryFolder folder_;
  std::string path_ = folder_.file("r.h5");
};

TEST_F(LockFileTest, IsThereWhileHeldAndGoneAfterwards) {
  {
    const LockFile lock(path_, this_process());
    EXPECT_TRUE(file_exists(path_ + ".lock"));
    EXPECT_TRUE(lock.still_ours());
  }
  EXPECT_FALSE(file_exists(path_ + ".lock"));
}

TEST_F(LockFileTest, ALivingHolderOfThisHostIsNamed) {
  const LockFile lock(path_, this_process());
  EXPECT_THAT(refusal(), testing::AllOf(testing::HasSubstr("locked by a running sweep"),
                                        testing::HasSubstr(std::to_string(::getpid())),
                                        testing::HasSubstr(this_process().host)));
  EXPECT_TRUE(lock.still_ours());
}

TEST_F(LockFileTest, ADeadHolderOfThisHostIsReplaced) {
  LockHolder dead = this_process();
  dead.pid = dead_pid();
  written_by(dead);
  EXPECT_EQ(refusal(), "");
}

TEST_F(LockFileTest, AnotherProcessWithTheSamePidIsNotTheHolder) {
  LockHolder reused = this_process();
  reused.start_time += 1;
  written_by(reused);
  EXPECT_EQ(refusal(), "");
}

TEST_F(LockFileTest, AHolderFromBeforeTheHostWasStartedAnewIsGone) {
  LockHolder before = this_process();
  before.boot_id = "another boot";
  written_by(before);
  EXPECT_EQ(refusal(), "");
}

TEST_F(LockFileTest, AZombieIsGone) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(0);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT), 0);
  LockHolder zombie = this_process();
  zombie.pid = pid;
  written_by(zombie);
  EXPECT_EQ(refusal(), "");
  ::waitpid(pid, nullptr, 0);
}

TEST_F(LockFileTest, OfAnotherHostOnlyTheCounterTells) {
  LockHolder other = this_process();
  other.host = "n2";
  written_by(other);
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_EQ(refusal(), "") << "no bump: taken over";
  EXPECT_GE(std::chrono::steady_clock::now() - begun, kQuick.stale_after);

  written_by(other);
  const std::jthread holder = beating(other);
  EXPECT_THAT(refusal(), testing::HasSubstr("host n2"));
}

TEST_F(LockFileTest, ARequeuedJobDoesNotLockItselfOut) {
  LockHolder first = this_process();
  first.host = "n2";
  first.slurm_job_id = "77";
  LockHolder second = this_process();
  second.slurm_job_id = "77";
  second.slurm_restart_count = 1;
  written_by(first);
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_EQ(refusal(second), "");
  EXPECT_LT(std::chrono::steady_clock::now() - begun, kQuick.stale_after);
}

TEST_F(LockFileTest, ALockThatCannotBeReadIsWatchedNotTrusted) {
  write_file(path_ + ".lock", "not ours");
  EXPECT_EQ(refusal(), "");
}

TEST_F(LockFileTest, LookingTellsWhoHoldsItWithoutTakingIt) {
  EXPECT_EQ(look_at_lock(path_).state, LockState::kFree);
  written_by(this_process());
  EXPECT_EQ(look_at_lock(path_).state, LockState::kHeld);
  EXPECT_EQ(look_at_lock(path_).holder->pid, ::getpid());
  LockHolder other = this_process();
  other.pid = dead_pid();
  written_by(other);
  EXPECT_EQ(look_at_lock(path_).state, LockState::kDead);
  other.host = "n2";
  written_by(other);
  EXPECT_EQ(look_at_lock(path_).state, LockState::kUnsure);
  EXPECT_EQ(watch_lock(path_, kQuick).state, LockState::kDead) << "never bumped";
  const std::jthread holder = beating(other);
  EXPECT_EQ(watch_lock(path_, kQuick).state, LockState::kHeld);
}

TEST_F(LockFileTest, BeatsEveryFiveSecondsAndSeesThatItWasTakenOver) {
  LockFile lock(path_, this_process());
  const Instant start{};
  const auto text = [&] { return read_whole_file(path_ + ".lock"); };
  lock.beat(start);
  const std::string first = text();
  lock.beat(start + seconds(4.9));
  EXPECT_EQ(text(), first);
  lock.beat(start + seconds(5));
  EXPECT_NE(text(), first);

  write_file(path_ + ".lock", lock_text(this_process()));  // in place: still the same file
  lock.beat(start + seconds(10));
  std::filesystem::remove(path_ + ".lock");
  written_by(this_process());
  EXPECT_THROW(lock.beat(start + seconds(15)), IoError);
  lock.release();
  EXPECT_TRUE(file_exists(path_ + ".lock")) << "another's lock is left alone";
}

}  // namespace
}  // namespace batchsweep::results
