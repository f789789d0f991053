// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/compile.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "results/store/journal.hpp"
#include "results/store/posix_file.hpp"

namespace batchsweep::results {
namespace {

void append_text_member(std::string& json, std::string_view key, std::string_view value) {
  json += ",\"";
  json += key;
  json += "\":";
  append_json_text(json, value);
}

}  // namespace

JournalWriter::JournalWriter(const std::string& path, const JournalHeader& header,
                             DataSync data_sync)
    : path_(path),
      fd_(open_file(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND)),
      data_sync_(std::move(data_sync)) {
  try {
    begin(header);
  } catch (...) {
    ::unlink(path.c_str());  // it is this start's own, and holds nothing
    throw;
  }
}

void JournalWriter::begin(const JournalHeader& header) {
  begin_frame("journal");
  json_ += ",\"format\":1";
  append_text_member(json_, "file_id", header.file_id);
  append_text_member(json_, "origin", header.origin);
  append_text_member(json_, "sweep_name", header.sweep_name);
  json_ += fmt::format(",\"first_sequence\":{}}}", header.first_sequence);
  write_frame();
  sync();
  sync_folder_of(path_);
}

JournalWriter::JournalWriter(const std::string& path, std::uint64_t whole_bytes, DataSync data_sync)
    : path_(path),
      fd_(open_file(path, O_WRONLY | O_APPEND)),
      data_sync_(std::move(data_sync)),
      bytes_(whole_bytes) {
  if (file_size(fd_.get(), path) != whole_bytes) cut(whole_bytes);
  sync();
}

void JournalWriter::cut(std::uint64_t whole_bytes) {
  if (::ftruncate(fd_.get(), static_cast<off_t>(whole_bytes)) != 0)
    throw_errno(fmt::format("cannot cut {} off at byte {}", path_, whole_bytes), errno);
  bytes_ = whole_bytes;
}

void JournalWriter::append_run(const RunInfo& run) {
  begin_frame("run");
  json_ += ",\"run\":{\"run_id\":";
  append_json_text(json_, run.run_id);
  append_text_member(json_, "site", run.site);
  append_text_member(json_, "created_utc", run.created_utc);
  append_text_member(json_, "batchsweep_version", run.batchsweep_version);
  append_text_member(json_, "sweep_text", run.sweep_text);
  append_text_member(json_, "site_text", run.site_text);
  append_text_member(json_, "sweep_inputs", run.sweep_inputs);
  if (!run.rerun.empty()) append_text_member(json_, "rerun", run.rerun);
  json_ += "}}";
  write_frame();
}

void JournalWriter::append_started(const StartedFrame& started) {
  begin_frame("started");
  json_ += ",\"started\":{\"trial_id\":";
  append_json_text(json_, started.trial_id);
  json_ += fmt::format(",\"repeat\":{},\"attempt\":{}}}}}", started.repeat, started.attempt);
  write_frame();
}

void JournalWriter::append_attempt(const AttemptRecord& attempt, std::int64_t sequence,
                                   const std::string& run_id) {
  begin_frame("attempt");
  json_ += fmt::format(",\"sequence\":{}", sequence);
  append_text_member(json_, "run_id", run_id);
  json_ += ",\"attempt\":";
  append_json(json_, attempt, known_);
  json_ += '}';
  write_frame();
}

void JournalWriter::begin_frame(std::string_view kind) {
  json_.clear();
  json_ += "{\"kind\":\"";
  json_ += kind;
  json_ += fmt::format("\",\"durable\":{}", durable_);
}

void JournalWriter::write_frame() {
  if (failed_) throw IoError(path_ + ": takes no more since it could not be made durable");
  line_.clear();
  fmt::format_to(std::back_inserter(line_), FMT_COMPILE("{} {:08x} "), json_.size(),
                 crc32_of(json_));
  line_ += json_;
  line_ += '\n';
  std::string_view rest = line_;
  while (!rest.empty()) {
    const ssize_t n = ::write(fd_.get(), rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const int error = errno;
      // Back to the last whole frame; should that fail too, the reader drops the torn one.
      if (::ftruncate(fd_.get(), static_cast<off_t>(bytes_)) != 0) failed_ = true;
      known_.clear();
      disk_full_ = error == ENOSPC;
      throw IoError(fmt::format(
          "cannot write {}: {}; it ends at its last whole record: make room and run again", path_,
          std::strerror(error)));
    }
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
  bytes_ += line_.size();
}

void JournalWriter::sync() {
  if (failed_) throw IoError(path_ + ": takes no more since it could not be made durable");
  if (durable_ == bytes_) return;
  if ((data_sync_ ? data_sync_(fd_.get()) : ::fdatasync(fd_.get())) != 0) {
    // Never tried again: the kernel may have dropped the pages, and a second call would report
    // success.
    failed_ = true;
    throw_errno("cannot make " + path_ + " durable", errno);
  }
  durable_ = bytes_;
}

}  // namespace batchsweep::results
