// SPDX-License-Identifier: Apache-2.0
// A table of text cells as people and programs read it: aligned text, Markdown or CSV. Knows
// nothing of what the cells mean; JSON answers are made by the verbs themselves, because numbers
// must stay numbers there.
#pragma once

#include <string>
#include <vector>

#include "base/enum_names.hpp"

namespace batchsweep {

enum class TableFormat { kText, kMarkdown, kCsv };
constexpr auto enum_names(TableFormat) {
  return std::to_array<EnumName<TableFormat>>({{TableFormat::kText, "text"},
                                               {TableFormat::kMarkdown, "markdown"},
                                               {TableFormat::kCsv, "csv"}});
}

struct Table {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;  // a short row is filled up with empty cells
  bool operator==(const Table&) const = default;
};

// Ends with a newline. Text and Markdown align a column right when every cell that is not empty
// starts like a number; CSV follows RFC 4180 (quotes around cells with commas, quotes or line
// breaks, quotes doubled) with "\n" line ends.
[[nodiscard]] std::string render(const Table& table, TableFormat format);
// One cell of CSV, quoted where it must be.
[[nodiscard]] std::string csv_cell(const std::string& text);

}  // namespace batchsweep
