// SPDX-License-Identifier: Apache-2.0
#include "results/store/reader.hpp"

#include <gmock/gmock.h>

#include <array>
#include <cstdio>

#include "base/error.hpp"
#include "results/record/fields.hpp"
#include "results/store/h5.hpp"
#include "results/store/journal.hpp"
#include "results/store/lock_file.hpp"
#include "results/store/schema.hpp"
#include "store_fixtures.hpp"

namespace batchsweep::results {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ReaderTest : public testing::Test {
 protected:
  void write(std::vector<AttemptRecord> attempts) {
    const FakeClock clock;
    ResultsStore store({.path = path_, .sweep_text = "[sweep]\nname = \"t\"\n", .sweep_name = "t"},
                       clock);
    for (const AttemptRecord& attempt : attempts) store.append(attempt);
    store.close();
  }
  std::string refusal(const std::string& path) {
    try {
      (void)read_results(path);
      return "";
    } catch (const ResultsFileError& error) {
      return error.what();
    }
  }

  TemporaryFolder folder_;
  std::string path_ = folder_.file("r.h5");
};

std::string output_of(const std::string& command) {
  std::string text;
  FILE* pipe = ::popen(command.c_str(), "r");
  std::array<char, 4096> buffer{};
  while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) text += buffer.data();
  return ::pclose(pipe) == 0 ? text : text + "(failed)";
}

TEST_F(ReaderTest, EveryColumnComesBackAsItWasRecorded) {
  AttemptRecord attempt = attempt_of(5);
  int n = 0;
  for (const auto& field : fields_of<TrialRecord>()) {
    ++n;
    if (const auto* number = std::get_if<Number TrialRecord::*>(&field.member))
      attempt.trial.** number = n + 0.25;
    if (const auto* flag = std::get_if<bool TrialRecord::*>(&field.member))
      attempt.trial.** flag = true;
    const auto* text = std::get_if<std::string TrialRecord::*>(&field.member);
    if (text != nullptr && (attempt.trial.**text).empty())
      attempt.trial.** text = "gr\xc3\xbc\xc3\x9f " + std::to_string(n);
  }
  attempt.trial.reason = "";
  attempt.log = "log";
  write({attempt, attempt_of(6)});
  const auto trials = read_results(path_).trials;
  ASSERT_EQ(trials.size(), 2U);
  TrialRecord expected = attempt.trial;
  expected.run_id = trials[0].run_id;
  expected.sequence = 1;
  expected.steps_offset = 0;
  expected.steps_count = 3;
  expected.log_text_row = trials[0].log_text_row;
  EXPECT_EQ(trials[0], expected);
  EXPECT_EQ(trials[1].mfu, std::nullopt) << "unknown is absent, not the row before";
}

TEST_F(ReaderTest, OnlyTheWantedColumnsAreFilled) {
  write({attempt_of(1)});
  const auto trials = read_results(path_, {"model", "samples_per_s", "no_such_column"}).trials;
  ASSERT_EQ(trials.size(), 1U);
  TrialRecord expected;
  clear_record(expected);
  expected.model = "resnet18";
  expected.samples_per_s = 101.5;
  EXPECT_EQ(trials[0], expected);
}

TEST_F(ReaderTest, ManyRowsInManyBlocks) {
  std::vector<AttemptRecord> attempts;
  for (std::uint64_t i = 0; i < 5000; ++i) {
    attempts.push_back(attempt_of(i));
    attempts.back().trial.message = std::string(200 + i % 3, static_cast<char>('a' + i % 26));
  }
  write(attempts);
  const auto trials = read_results(path_).trials;
  ASSERT_EQ(trials.size(), attempts.size());
  for (std::size_t i = 0; i < trials.size(); ++i) {
    ASSERT_EQ(trials[i].trial_id, attempts[i].trial.trial_id);
    ASSERT_EQ(trials[i].message, attempts[i].trial.message);
    ASSERT_EQ(trials[i].steps_offset, static_cast<double>(3 * i));
  }
  EXPECT_EQ(read_trial(path_, trial_id(4999))[0].steps, attempts[4999].steps);
}

TEST_F(ReaderTest, NamesOfAnyShapeComeBackByteForByte) {
  const std::vector<std::string> names = {
      "org/bert-base", ".",           "..",          std::string(300, 'x'),     "a\nb",
      "a,\"b\"",       "caf\xc3\xa9", "Caf\xc3\xa9", "\xe6\xa8\xa1\xe5\x9e\x8b"};
  std::vector<AttemptRecord> attempts;
  for (std::size_t i = 0; i < names.size(); ++i) {
    attempts.push_back(attempt_of(i));
    attempts.back().trial.model = names[i];
  }
  write(attempts);
  std::vector<std::string> found;
  for (const TrialRecord& trial : read_results(path_).trials) found.push_back(trial.model);
  EXPECT_EQ(found, names);
}

TEST_F(ReaderTest, StockReadersSeeTheSame) {
  AttemptRecord first = attempt_of(1),
                second = attempt_of(2, 1, Outcome::kFailed, Reason::kException);
  first.trial.model = "caf\xc3\xa9/bert";
  first.trial.emulated = true;
  second.log = "Traceback";
  write({first, second});
  const std::string command = "/usr/bin/python3 " STORE_TEST_DIR "/read_back.py " + path_ + " 2>&1";
  EXPECT_EQ(output_of(command),
            "rows 2 columns " + std::to_string(fields_of<TrialRecord>().size()) +
                "\n"
                "models caf\xc3\xa9/bert|resnet18\n"
                "flags bool [True, False] 1\n"
                "numbers float64 [101.5, 102.5] 2\n"
                "batch int64 [1, 2]\n"
                "steps [1, 2, 3] [True, False, False] [0.5, 0.25, 0.125] [3.0, 2.0, 1.0]\n"
                "log Traceback | empty b''\n"
                "sweep [sweep]\nname = \"t\"\n"
                "tables ['README', 'attempts', 'fields', 'hosts', 'ranks', 'runs', 'searches', "
                "'software', 'steps', 'text', 'trials']\n"
                "attributes 1 measured 16\n"
                "undocumented in attempts []\nundocumented in fields []\nundocumented in hosts "
                "[]\nundocumented in ranks []\n"
                "undocumented in runs []\nundocumented in searches []\nundocumented in software "
                "[]\nundocumented in steps []\n"
                "undocumented in trials []\n"
                "readme True\n"
                "h5dump 0 True\n");
}

TEST_F(ReaderTest, WhatAnotherProgramWroteIsReadThroughConversion) {
  write({attempt_of(1), attempt_of(2)});
  const std::string script =
      "import h5py, numpy as np, sys\n"
      "f = h5py.File(sys.argv[1], 'r+'); t = f['trials'][:]; del f['trials']\n"
      "d = np.dtype([('extra', 'f8'), ('batch_size', 'i4'), ('samples_per_s', 'f4'), ('emulated', "
      "'?'), ('model', 'S40'),\n"
      "              ('trial_id', 'S16')])\n"
      "n = np.zeros(len(t), d)\n"
      "for c in d.names[1:]: n[c] = t[c]\n"
      "f['trials'] = n\n";
  write_file(folder_.file("rewrite.py"), script);
  ASSERT_EQ(output_of("/usr/bin/python3 " + folder_.file("rewrite.py") + " " + path_ + " 2>&1"),
            "");
  const auto trials = read_results(path_).trials;
  ASSERT_EQ(trials.size(), 2U);
  EXPECT_EQ(trials[1].batch_size, 2);
  EXPECT_EQ(trials[1].samples_per_s, 102.5);
  EXPECT_EQ(trials[1].model, "resnet18");
  EXPECT_EQ(trials[1].mfu, std::nullopt);
  EXPECT_EQ(trials[1].outcome, "");
}

TEST_F(ReaderTest, SaysWhatIsWrongWithAFile) {
  write({attempt_of(1)});
  const std::string bytes = read_whole_file(path_);
  const std::string bad = folder_.file("bad.h5");
  EXPECT_THAT(refusal(folder_.file("absent.h5")), HasSubstr("no such file"));
  write_file(bad, "");
  EXPECT_THAT(refusal(bad), HasSubstr("damaged: it is empty (0 bytes)"));
  write_file(bad, "gpu,model\n");
  EXPECT_THAT(refusal(bad), HasSubstr("not an HDF5 file"));
  for (const std::size_t size :
       {std::size_t{100}, bytes.size() / 2, bytes.size() - 100, bytes.size() - 10}) {
    write_file(bad, bytes.substr(0, size));
    EXPECT_THAT(refusal(bad), HasSubstr("damaged: ")) << size;
  }
  EXPECT_EQ(read_whole_file(path_), bytes);
}

TEST_F(ReaderTest, OverwrittenBytesAreSeenWhereverTheyAre) {
  write({attempt_of(1), attempt_of(2)});
  const std::string bytes = read_whole_file(path_);
  const std::string bad = folder_.file("bad.h5");
  for (std::size_t at = 0; at < bytes.size() - 64; at += at < 1000 ? 1 : 997) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(~changed[at]);
    write_file(bad, changed);
    ASSERT_THAT(refusal(bad), HasSubstr("damaged: its content does not match its checksum")) << at;
  }
  // Also where the file's own checksum is gone, as after a program that opened it for writing: then
  // HDF5 says what it finds.
  for (const std::size_t at : {40U, 96U, 136U, 800U}) {
    std::string changed = bytes.substr(0, bytes.size() - 64);
    changed.replace(at, 4, "\xff\xff\xff\xff");
    write_file(bad, changed);
    EXPECT_NO_FATAL_FAILURE((void)refusal(bad)) << at;
  }
}

TEST_F(ReaderTest, ANewerSchemaIsRefusedByNumber) {
  {
    const H5File file = create_h5_in_memory();
    write_attribute(file.get(), "schema_version", kSchemaVersion + 2);
    write_file(path_, image_of(file));
  }
  EXPECT_THAT(refusal(path_), HasSubstr("schema 3 is newer than this program's 1"));
  {
    const H5File file = create_h5_in_memory();
    write_file(path_, image_of(file));
  }
  EXPECT_THAT(refusal(path_), HasSubstr("not a results file of batchsweep"));
}

TEST_F(ReaderTest, SaysThatAJournalStandsBesideIt) {
  write({attempt_of(1)});
  const std::string file_id = read_results(path_).file_id;
  { const JournalWriter journal(path_ + ".journal", {.file_id = file_id}); }
  EXPECT_THAT(read_results(path_).rows_missing, HasSubstr("a sweep was killed"));
  const LockFile lock(path_, this_process());
  EXPECT_THAT(read_results(path_).rows_missing, HasSubstr("a sweep is running on it"));
}

TEST_F(ReaderTest, RefusesAJournalOfAnotherFile) {
  write({attempt_of(1)});
  { const JournalWriter journal(path_ + ".journal", {.file_id = "another"}); }
  EXPECT_THAT(refusal(path_), HasSubstr("another results file"));
  EXPECT_THROW((void)read_trial(path_, trial_id(1)), ResultsFileError);
}

}  // namespace
}  // namespace batchsweep::results
