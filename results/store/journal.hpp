// SPDX-License-Identifier: Apache-2.0
// F.h5.journal: the truth while a sweep runs. Append-only frames, one a line: "LENGTH CRC32
// JSON\n", length in bytes (decimal), CRC-32 of the JSON (8 hex digits). Knows nothing of HDF5 and
// of what wins.
//
// Each frame says how many bytes of the journal were known to be durable when it was written. So
// what cannot be read is either the tail that nobody was promised (reading stops before it) or
// damage to what was recorded (refused, with its offset): also where a power cut has kept a later
// block of the tail and lost an earlier one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/unique_handle.hpp"
#include "results/record/record_text.hpp"
#include "results/store/reader.hpp"

namespace batchsweep::results {

struct JournalHeader {
  std::string file_id;
  std::string origin;
  std::string sweep_name;
  std::int64_t first_sequence =
      1;  // rows of the .h5 from this number on are in this journal as well
};

struct StartedFrame {
  std::string trial_id;
  std::int64_t repeat = 0, attempt = 1;
};

enum class FrameKind { kHeader, kRun, kStarted, kAttempt };

// One frame as read; only the member that `kind` names is meant.
struct JournalFrame {
  FrameKind kind = FrameKind::kHeader;
  JournalHeader header;
  RunInfo run;
  StartedFrame started;
  AttemptRecord attempt;
};

class JournalReader {
 public:
  explicit JournalReader(const std::string& path);
  // False at the end: of the file, or before a torn tail. Throws ResultsFileError where what was
  // recorded is damaged, or where the file is no journal.
  [[nodiscard]] bool next(JournalFrame& frame, Detail detail);
  // Bytes of whole frames read so far, and what stands behind them.
  [[nodiscard]] std::uint64_t whole_bytes() const { return whole_bytes_; }
  [[nodiscard]] std::uint64_t torn_bytes() const { return torn_bytes_; }

 private:
  [[nodiscard]] bool fill();
  void judge_tail();
  void decode(std::string_view json, JournalFrame& frame, Detail detail) const;

  std::string path_;
  UniqueFd fd_;
  std::string buffer_;
  std::size_t begin_ = 0;  // of what is not consumed yet, in buffer_
  bool at_end_ = false;
  bool any_ = false;
  std::uint64_t whole_bytes_ = 0;
  std::uint64_t torn_bytes_ = 0;
};

class JournalWriter {
 public:
  using DataSync = std::function<int(int)>;

  // A new journal: header frame, durable with its name. Throws IoError; EEXIST included.
  JournalWriter(const std::string& path, const JournalHeader& header, DataSync data_sync = {});
  // An existing one: everything behind `whole_bytes` is cut off.
  JournalWriter(const std::string& path, std::uint64_t whole_bytes, DataSync data_sync = {});

  void append_run(const RunInfo& run);
  void append_started(const StartedFrame& started);
  // `sequence` and `run_id` win over those in the record.
  void append_attempt(const AttemptRecord& attempt, std::int64_t sequence,
                      const std::string& run_id);
  // Throws IoError; after a failed sync nothing is known of what was written before, so the journal
  // takes no more.
  void sync();

  // Gives up the frames behind `whole_bytes`. Throws IoError.
  void cut(std::uint64_t whole_bytes);

  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  // The last write found the disk full; the frame can be written again once there is room.
  [[nodiscard]] bool disk_full() const { return disk_full_ && !failed_; }

 private:
  void begin(const JournalHeader& header);
  void begin_frame(std::string_view kind);
  void write_frame();

  std::string path_;
  UniqueFd fd_;
  DataSync data_sync_;
  KnownIds known_;
  std::string json_, line_;
  std::uint64_t bytes_ = 0;    // whole frames
  std::uint64_t durable_ = 0;  // of them
  bool failed_ = false, disk_full_ = false;
};

// Header of the journal beside a results file; nullopt where there is none, or one torn in its
// header. Throws ResultsFileError where it is of another file than `file_id`, or no journal.
[[nodiscard]] std::optional<JournalHeader> journal_beside(const std::string& results_path,
                                                          const std::string& file_id);
void check_journal_belongs(const JournalHeader& header, const std::string& results_path,
                           const std::string& file_id);

}  // namespace batchsweep::results
