// SPDX-License-Identifier: Apache-2.0
// A report as people and programs read it. Renders only: every number comes from report.hpp.
#pragma once

#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/table.hpp"
#include "results/report/report.hpp"

namespace batchsweep::results {

// One answer as a table with what must be said about it.
struct Section {
  std::string title;
  std::vector<std::string> notes;
  Table table;
};

// What stands above all tables: files, origin, execution, emulated devices, notices ...
[[nodiscard]] std::vector<std::string> heading(const Report& report);
// ... and the axes with one value.
[[nodiscard]] std::string said_once(const Report& report);
[[nodiscard]] std::vector<Section> sections(const Report& report);

[[nodiscard]] std::string render_text(const Report& report);
[[nodiscard]] std::string render_markdown(const Report& report);
[[nodiscard]] Json report_json(const Report& report);
// All answers of a group in one row, so that the whole is one table.
[[nodiscard]] std::string render_csv(const Report& report);
// At most fifteen lines, for an e-mail.
[[nodiscard]] std::string render_summary(const Report& report);

// "1234", "123.4", "0.01234": four digits that mean something.
[[nodiscard]] std::string format_rate(double rate);
}  // namespace batchsweep::results
