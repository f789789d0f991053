// SPDX-License-Identifier: Apache-2.0
#include "results/store/journal.hpp"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>

#include "base/error.hpp"
#include "store_fixtures.hpp"

namespace batchsweep::results {
namespace {

const JournalHeader kHeader{
    .file_id = "f1", .origin = "measured", .sweep_name = "cards", .first_sequence = 7};

// What a journal says, one word a frame.
std::vector<std::string> frames_of(const std::string& path, std::uint64_t* whole = nullptr) {
  JournalReader reader(path);
  JournalFrame frame;
  std::vector<std::string> words;
  while (reader.next(frame, Detail::kAll)) {
    switch (frame.kind) {
      case FrameKind::kHeader:
        words.push_back("header " + frame.header.file_id);
        break;
      case FrameKind::kRun:
        words.push_back("run " + frame.run.run_id);
        break;
      case FrameKind::kStarted:
        words.push_back("started " + std::to_string(frame.started.attempt));
        break;
      case FrameKind::kAttempt:
        words.push_back("attempt " + std::to_string(frame.attempt.trial.sequence));
        break;
    }
  }
  if (whole != nullptr) *whole = reader.whole_bytes();
  return words;
}

// header, run, started 1, attempt 7, attempt 8: durable after each.
std::vector<std::uint64_t> write_sample(const std::string& path) {
  JournalWriter writer(path, kHeader);
  std::vector<std::uint64_t> ends{writer.bytes()};
  const auto end_frame = [&] {
    writer.sync();
    ends.push_back(writer.bytes());
  };
  writer.append_run({.run_id = "r1",
                     .site = "",
                     .created_utc = "",
                     .batchsweep_version = "",
                     .sweep_text = "[sweep]\n",
                     .site_text = "",
                     .rerun = "failed"});
  end_frame();
  writer.append_started({trial_id(1), 0, 1});
  end_frame();
  writer.append_attempt(attempt_of(1), 7, "r1");
  end_frame();
  writer.append_attempt(attempt_of(2), 8, "r1");
  end_frame();
  return ends;
}

const std::vector<std::string> kSample = {"header f1", "run r1", "started 1", "attempt 7",
                                          "attempt 8"};

TEST(Journal, GivesBackWhatWasWritten) {
  const TemporaryFolder folder;
  const std::string path = folder.file("j");
  write_sample(path);
  EXPECT_EQ(frames_of(path), kSample);
  JournalReader reader(path);
  JournalFrame frame;
  ASSERT_TRUE(reader.next(frame, Detail::kAll));
  EXPECT_EQ(frame.header.first_sequence, 7);
  ASSERT_TRUE(reader.next(frame, Detail::kAll));
  EXPECT_EQ(frame.run.sweep_text, "[sweep]\n");
  EXPECT_EQ(frame.run.rerun, "failed");
  ASSERT_TRUE(reader.next(frame, Detail::kAll) && reader.next(frame, Detail::kAll));
  AttemptRecord expected = attempt_of(1);
  expected.trial.sequence = 7;
  expected.trial.run_id = "r1";
  EXPECT_EQ(frame.attempt, expected);
  ASSERT_TRUE(reader.next(frame, Detail::kAll));
  EXPECT_EQ(frame.attempt.software.id, attempt_of(2).software.id);
  EXPECT_EQ(frame.attempt.software.program, "") << "the same software is written once";
}

TEST(Journal, CutAtEveryByteItEndsAtItsLastWholeFrame) {
  const TemporaryFolder folder;
  const auto ends = write_sample(folder.file("whole"));
  const std::string bytes = read_whole_file(folder.file("whole"));
  ASSERT_EQ(bytes.size(), ends.back());
  for (std::size_t size = ends[1]; size <= bytes.size(); ++size) {
    write_file(folder.file("cut"), bytes.substr(0, size));
    std::size_t whole = 0;
    while (whole < ends.size() && ends[whole] <= size) ++whole;
    std::uint64_t whole_bytes = 0;
    ASSERT_EQ(frames_of(folder.file("cut"), &whole_bytes),
              std::vector<std::string>(kSample.begin(), kSample.begin() + static_cast<long>(whole)))
        << size;
    ASSERT_EQ(whole_bytes, ends[whole - 1]) << size;
  }
}

TEST(Journal, AppendingBehindATornTailCutsItOff) {
  const TemporaryFolder folder;
  const std::string path = folder.file("j");
  const auto ends = write_sample(path);
  std::filesystem::resize_file(path, ends[4] - 1);
  {
    JournalWriter writer(path, ends[3]);
    writer.append_started({trial_id(9), 0, 5});
  }
  EXPECT_EQ(frames_of(path), (std::vector<std::string>{"header f1", "run r1", "started 1",
                                                       "attempt 7", "started 5"}));
}

TEST(Journal, DamageBeforeTheTailIsRefusedWithItsOffset) {
  const TemporaryFolder folder;
  const auto ends = write_sample(folder.file("whole"));
  const std::string bytes = read_whole_file(folder.file("whole"));
  for (const std::size_t at : {ends[0] + 3, ends[1] + 1, ends[2] + 40, ends[3] - 1}) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    write_file(folder.file("j"), damaged);
    const std::size_t frame =
        static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), at) - ends.begin()) - 1;
    try {
      (void)frames_of(folder.file("j"));
      ADD_FAILURE() << "damage at " << at << " went unseen";
    } catch (const ResultsFileError& error) {
      EXPECT_THAT(error.what(),
                  testing::HasSubstr("damaged at byte " + std::to_string(ends[frame]) + ":"));
    }
  }
}

TEST(Journal, ALostBlockOfWhatWasNeverDurableIsATail) {
  const TemporaryFolder folder;
  const std::string path = folder.file("j");
  std::uint64_t first = 0, second = 0;
  {
    JournalWriter writer(path, kHeader);
    first = writer.bytes();
    writer.append_started({trial_id(1), 0, 1});
    second = writer.bytes();
    writer.append_started({trial_id(2), 0, 1});
  }
  std::string bytes = read_whole_file(path);
  std::fill(bytes.begin() + static_cast<long>(first), bytes.begin() + static_cast<long>(second),
            '\0');
  write_file(path, bytes);
  EXPECT_EQ(frames_of(path), std::vector<std::string>{"header f1"});
}

TEST(Journal, AFileThatIsNoJournalIsRefused) {
  const TemporaryFolder folder;
  write_file(folder.file("text"), "a shopping list\nbread\n");
  EXPECT_THROW((void)frames_of(folder.file("text")), ResultsFileError);
  write_file(folder.file("empty"), "");
  EXPECT_TRUE(frames_of(folder.file("empty")).empty());
  EXPECT_THROW((void)JournalReader(folder.file("absent")), IoError);
}

TEST(Journal, AFullDiskLeavesItAtItsLastWholeFrame) {
  const TemporaryFolder folder;
  const std::string path = folder.file("j");
  const auto ends = write_sample(path);
  JournalWriter writer(path, ends.back());
  // The size limit of the process stands in for a full disk: a short write, then an error.
  const auto old_handler = ::signal(SIGXFSZ, SIG_IGN);
  rlimit old_limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  rlimit limit = old_limit;
  limit.rlim_cur = ends.back() + 100;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::string message;
  try {
    writer.append_attempt(attempt_of(3), 9, "r1");
  } catch (const IoError& error) {
    message = error.what();
  }
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old_limit), 0);
  ::signal(SIGXFSZ, old_handler);
  EXPECT_THAT(message, testing::HasSubstr("ends at its last whole record"));
  EXPECT_EQ(std::filesystem::file_size(path), ends.back());
  writer.append_attempt(attempt_of(4), 9, "r1");  // room again
  writer.sync();
  EXPECT_EQ(frames_of(path).back(), "attempt 9");
}

TEST(Journal, AfterAFailedSyncItTakesNoMore) {
  const TemporaryFolder folder;
  int calls = 0;
  JournalWriter writer(folder.file("j"), kHeader,
                       [&](int) { return ++calls == 1 ? 0 : (errno = EIO, -1); });
  writer.append_started({trial_id(1), 0, 1});
  EXPECT_THROW(writer.sync(), IoError);
  EXPECT_THROW(writer.sync(), IoError);
  EXPECT_EQ(calls, 2) << "a failed sync is never tried again";
  EXPECT_THROW(writer.append_started({trial_id(1), 0, 2}), IoError);
}

TEST(Journal, SyncsOnlyWhatIsNotDurableYet) {
  const TemporaryFolder folder;
  int calls = 0;
  JournalWriter writer(folder.file("j"), kHeader, [&](int) { return ++calls, 0; });
  writer.sync();
  EXPECT_EQ(calls, 1);
  writer.append_started({trial_id(1), 0, 1});
  writer.append_started({trial_id(2), 0, 1});
  writer.sync();
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace batchsweep::results
