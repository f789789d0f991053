// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstdio>
#include <memory>
#include <utility>

#include "base/log.hpp"
#include "cli/verbs.hpp"
#include "results/report/export.hpp"
#include "results/store/reader.hpp"

namespace batchsweep::cli {
namespace {

struct ExportArguments {
  std::string file;
  std::optional<std::string> csv, json;
};

// A file that appears under its name only when it is whole; "-" is standard output.
class Output {
 public:
  explicit Output(const std::string& path) : path_(path), temporary_(path + ".tmp") {
    stream_ = path == "-" ? stdout : std::fopen(temporary_.c_str(), "w");
    if (!stream_) throw_errno("cannot write " + temporary_, errno);
  }
  ~Output() {
    if (stream_ && stream_ != stdout) {
      std::fclose(stream_);
      std::remove(temporary_.c_str());
    }
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void write(const std::string& text) {
    if (std::fwrite(text.data(), 1, text.size(), stream_) != text.size())
      throw_errno("cannot write " + path_, errno);
  }
  void finish() {
    if (std::fflush(stream_) != 0) throw_errno("cannot write " + path_, errno);
    if (stream_ == stdout) return;
    const int closed = std::fclose(std::exchange(stream_, nullptr));
    if (closed != 0 || std::rename(temporary_.c_str(), path_.c_str()) != 0) {
      const int error = errno;
      std::remove(temporary_.c_str());
      throw_errno("cannot write " + path_, error);
    }
  }

 private:
  std::string path_, temporary_;
  std::FILE* stream_ = nullptr;
};

void export_rows(const ExportArguments& arguments) {
  const bool csv = arguments.csv.has_value();
  constexpr std::size_t kFlushAt = 1 << 20;
  std::string text;
  std::unique_ptr<Output> output;  // opened only once the results file has proved readable
  const auto flush = [&] {
    if (!output) output = std::make_unique<Output>(csv ? *arguments.csv : *arguments.json);
    output->write(text);
    text.clear();
  };
  if (csv) results::append_csv_header(text);
  const char* before = "[\n";
  const results::ResultsFile file =
      results::for_each_result(arguments.file, {}, [&](const results::TrialRecord& trial) {
        if (csv) {
          results::append_csv_row(text, trial);
        } else {
          text += before;
          results::append_json_row(text, trial);
          before = ",\n";
        }
        if (text.size() >= kFlushAt) flush();
      });
  if (!csv) text += before[0] == '[' ? "[]\n" : "\n]\n";
  flush();
  output->finish();
  if (!file.rows_missing.empty()) log_warn("{}", file.rows_missing);
}

}  // namespace

void add_export(CommandLine& line) {
  auto arguments = std::make_shared<ExportArguments>();
  line.add("export", "write every row and column as CSV or JSON")
      .positional("F.h5", arguments->file, "results file")
      .option("--csv", arguments->csv, "CSV file to write; - is standard output")
      .option("--json", arguments->json,
              "JSON file to write (a list of objects); - is standard output")
      .example("batchsweep export cards.h5 --csv cards.csv")
      .run([arguments] {
        if (arguments->csv.has_value() == arguments->json.has_value())
          throw UsageError(
              "export: say where to: --csv FILE or --json FILE (- is standard output)");
        export_rows(*arguments);
        return ExitCode::kDone;
      });
}

}  // namespace batchsweep::cli
