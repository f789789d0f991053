// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "base/text.hpp"
#include "cli/verbs.hpp"
#include "results/report/render.hpp"
#include "results/report/report.hpp"
#include "sweeps/grid.hpp"

namespace batchsweep::cli {
namespace {

struct ReportArguments {
  std::vector<std::string> files, only;
  std::string format, reference, html;
  bool summary = false, all = false;
};

results::Report read_report(const ReportArguments& arguments) {
  results::ReportOptions options;
  options.reference = arguments.reference;
  options.all = arguments.all;
  for (const std::string& only : arguments.only) options.only.push_back(sweeps::parse_only(only));
  results::ReportBuilder builder(std::move(options));
  const std::vector<std::string_view> columns = results::report_columns();
  for (const std::string& path : arguments.files)
    builder.end_file(
        results::for_each_result(path, columns, [&](const auto& trial) { builder.add(trial); }));
  return std::move(builder).finish();
}

ExitCode report(const ReportArguments& arguments) {
  if (!arguments.html.empty())
    throw UsageError(
        "--html: this version writes no HTML; use --format markdown, or json for your own plots");
  if (arguments.summary && arguments.format != "text")
    throw UsageError("--summary is text: leave out --format");
  const results::Report report = read_report(arguments);
  std::string text;
  if (arguments.summary) {
    text = results::render_summary(report);
  } else if (arguments.format == "json") {
    text = dump(results::report_json(report), 2) + '\n';
  } else if (arguments.format == "markdown") {
    text = results::render_markdown(report);
  } else if (arguments.format == "csv") {
    text = results::render_csv(report);
  } else {
    text = results::render_text(report);
  }
  text = printable(text);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return ExitCode::kDone;
}

}  // namespace

void add_report(CommandLine& line) {
  auto arguments = std::make_shared<ReportArguments>();
  line.add("report", "show the answers: largest batch, throughput, memory, what limits")
      .positionals("F.h5", arguments->files, "results files; several are taken together")
      .choice("--format", arguments->format, {"text", "json", "markdown", "csv"},
              "csv: all answers about a group of trials in one row")
      .option("--only", arguments->only,
              "model=bert*,gpu=H100*: rows that match all; several: any of them")
      .option("--reference", arguments->reference,
              "device that throughput is relative to; default: the first")
      .flag("--summary", arguments->summary, "fifteen lines for an e-mail")
      .flag("--all", arguments->all,
            "every run and every row, also what the newest sweep text no longer asks for")
      .option("--html", arguments->html, "not in this version")
      .example("batchsweep report cards.h5 --only model=resnet18 --reference \"A100 40GB PCIe\"")
      .run([arguments] { return report(*arguments); });
}

}  // namespace batchsweep::cli
