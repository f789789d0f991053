// SPDX-License-Identifier: Apache-2.0
// How a command writes an answer that is one table: --format text, json, markdown or csv. JSON
// keeps numbers as numbers.
#pragma once

#include <functional>
#include <string>

#include "base/json.hpp"
#include "base/table.hpp"

namespace batchsweep::cli {

// The words of --format, the first is the default.
[[nodiscard]] const std::vector<std::string>& format_words();
// Prints the table, or what `json` makes, to standard output.
void print_answer(const std::string& format, const Table& table, const std::function<Json()>& json);

}  // namespace batchsweep::cli
