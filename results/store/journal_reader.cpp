// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <optional>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "results/store/journal.hpp"
#include "results/store/posix_file.hpp"

namespace batchsweep::results {
namespace {

constexpr std::size_t kReadBytes = std::size_t{1} << 20;
constexpr std::int64_t kFormat = 1;

struct WholeFrame {
  std::string_view json;
  std::size_t size = 0;  // with length, CRC and line end
};

// nullopt: no whole frame stands at the start of `bytes`.
std::optional<WholeFrame> whole_frame(std::string_view bytes) {
  std::size_t length = 0;
  std::uint32_t crc = 0;
  const char* end = bytes.data() + bytes.size();
  const auto [space, error] = std::from_chars(bytes.data(), end, length);
  if (error != std::errc() || end - space < 10 || *space != ' ' || space[9] != ' ')
    return std::nullopt;
  if (std::from_chars(space + 1, space + 9, crc, 16).ptr != space + 9) return std::nullopt;
  const char* json = space + 10;
  if (static_cast<std::size_t>(end - json) <= length || json[length] != '\n') return std::nullopt;
  const std::string_view text(json, length);
  if (crc32_of(text) != crc) return std::nullopt;
  return WholeFrame{text, static_cast<std::size_t>(json - bytes.data()) + length + 1};
}

// True where `bytes` ends before the frame at its start can be judged.
bool may_be_cut(std::string_view bytes) {
  std::size_t length = 0;
  const auto [space, error] = std::from_chars(bytes.data(), bytes.data() + bytes.size(), length);
  if (error != std::errc()) return bytes.empty();
  return bytes.size() < static_cast<std::size_t>(space - bytes.data()) + 10 + length + 1;
}

std::int64_t durable_of(std::string_view json) {
  JsonCursor cursor(json);
  std::string_view key;
  cursor.enter_object();
  while (cursor.next_member(key)) {
    if (key == "durable") return cursor.integer();
    cursor.skip();
  }
  return 0;
}

void read_run(JsonCursor& cursor, RunInfo& run) {
  run = {};
  std::string_view key;
  cursor.enter_object();
  while (cursor.next_member(key)) {
    if (key == "run_id")
      cursor.text(run.run_id);
    else if (key == "site")
      cursor.text(run.site);
    else if (key == "created_utc")
      cursor.text(run.created_utc);
    else if (key == "batchsweep_version")
      cursor.text(run.batchsweep_version);
    else if (key == "sweep_text")
      cursor.text(run.sweep_text);
    else if (key == "site_text")
      cursor.text(run.site_text);
    else if (key == "sweep_inputs")
      cursor.text(run.sweep_inputs);
    else if (key == "rerun")
      cursor.text(run.rerun);
    else
      cursor.skip();
  }
}

void read_started(JsonCursor& cursor, StartedFrame& started) {
  started = {};
  std::string_view key;
  cursor.enter_object();
  while (cursor.next_member(key)) {
    if (key == "trial_id")
      cursor.text(started.trial_id);
    else if (key == "repeat")
      started.repeat = cursor.integer();
    else if (key == "attempt")
      started.attempt = cursor.integer();
    else
      cursor.skip();
  }
}

}  // namespace

JournalReader::JournalReader(const std::string& path)
    : path_(path), fd_(open_file(path, O_RDONLY)) {}

// More bytes into the buffer; false at the end of the file.
bool JournalReader::fill() {
  if (at_end_) return false;
  buffer_.erase(0, begin_);
  begin_ = 0;
  const std::size_t have = buffer_.size();
  buffer_.resize(have + std::max(kReadBytes, have));
  ssize_t n = 0;
  do {
    n = ::read(fd_.get(), buffer_.data() + have, buffer_.size() - have);
  } while (n < 0 && errno == EINTR);
  buffer_.resize(have + static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  if (n < 0) throw_errno("cannot read " + path_, errno);
  at_end_ = n == 0;
  return n > 0;
}

bool JournalReader::next(JournalFrame& frame, Detail detail) {
  for (;;) {
    const std::string_view rest = std::string_view(buffer_).substr(begin_);
    if (const auto whole = whole_frame(rest)) {
      decode(whole->json, frame, detail);
      if (any_ == (frame.kind == FrameKind::kHeader)) {
        throw ResultsFileError(
            fmt::format("{}: damaged at byte {}: the header must be the first frame, and only that",
                        path_, whole_bytes_));
      }
      any_ = true;
      begin_ += whole->size;
      whole_bytes_ += whole->size;
      return true;
    }
    if (may_be_cut(rest) && fill()) continue;
    judge_tail();
    return false;
  }
}

// What stands behind the last whole frame: a tail that nobody was promised, or damage.
void JournalReader::judge_tail() {
  while (fill()) continue;
  std::string_view rest = std::string_view(buffer_).substr(begin_);
  torn_bytes_ = rest.size();
  if (!any_ && rest.find('\n') != std::string_view::npos) {
    throw ResultsFileError(path_ + ": this is not a journal of batchsweep; move it away");
  }
  // At every byte, not only behind line ends: the damage may be there.
  for (rest.remove_prefix(std::min<std::size_t>(rest.size(), 1)); !rest.empty();
       rest.remove_prefix(1)) {
    if (rest.front() < '0' || rest.front() > '9') continue;
    const auto later = whole_frame(rest);
    if (later && durable_of(later->json) > static_cast<std::int64_t>(whole_bytes_)) {
      throw ResultsFileError(
          fmt::format("{}: damaged at byte {}: recorded frames stand behind it; restore the file "
                      "from a copy, or cut it there to give up what follows",
                      path_, whole_bytes_));
    }
  }
}

void JournalReader::decode(std::string_view json, JournalFrame& frame, Detail detail) const {
  JsonCursor cursor(json);
  std::string_view key;
  std::string kind, run_id;
  std::int64_t sequence = 0, format = kFormat;
  cursor.enter_object();
  while (cursor.next_member(key)) {
    if (key == "kind")
      cursor.text(kind);
    else if (key == "format")
      format = cursor.integer();
    else if (key == "file_id")
      cursor.text(frame.header.file_id);
    else if (key == "origin")
      cursor.text(frame.header.origin);
    else if (key == "sweep_name")
      cursor.text(frame.header.sweep_name);
    else if (key == "first_sequence")
      frame.header.first_sequence = cursor.integer();
    else if (key == "run_id")
      cursor.text(run_id);
    else if (key == "sequence")
      sequence = cursor.integer();
    else if (key == "run")
      read_run(cursor, frame.run);
    else if (key == "started")
      read_started(cursor, frame.started);
    else if (key == "attempt")
      read_json(cursor, frame.attempt, detail);
    else
      cursor.skip();
  }
  if (format != kFormat)
    throw ResultsFileError(
        fmt::format("{}: journal format {} is not this program's {}", path_, format, kFormat));
  if (kind == "journal") {
    frame.kind = FrameKind::kHeader;
  } else if (kind == "run") {
    frame.kind = FrameKind::kRun;
  } else if (kind == "started") {
    frame.kind = FrameKind::kStarted;
  } else if (kind == "attempt") {
    frame.kind = FrameKind::kAttempt;
    frame.attempt.trial.run_id = run_id;
    frame.attempt.trial.sequence = sequence;
  } else {
    throw ResultsFileError(
        fmt::format("{}: frame of unknown kind \"{}\" at byte {}: written by a newer version",
                    path_, kind, whole_bytes_));
  }
}

std::optional<JournalHeader> journal_beside(const std::string& results_path,
                                            const std::string& file_id) {
  const std::string path = results_path + ".journal";
  std::optional<JournalReader> reader;
  try {
    reader.emplace(path);
  } catch (const IoError&) {
    // A sweep that ends while somebody reads takes its journal away.
    if (file_exists(path)) throw;
    return std::nullopt;
  }
  JournalFrame frame;
  if (!reader->next(frame, Detail::kTrial)) return std::nullopt;
  check_journal_belongs(frame.header, results_path, file_id);
  return frame.header;
}

void check_journal_belongs(const JournalHeader& header, const std::string& results_path,
                           const std::string& file_id) {
  if (header.file_id == file_id) return;
  throw ResultsFileError(fmt::format(
      "{}.journal: belongs to another results file (file id {}, that of {} is {}): move "
      "one of the two away",
      results_path, header.file_id, results_path, file_id));
}

}  // namespace batchsweep::results
