// SPDX-License-Identifier: Apache-2.0
#include "cli/answer.hpp"

#include <cstdio>

namespace batchsweep::cli {

const std::vector<std::string>& format_words() {
  static const std::vector<std::string> words{"text", "json", "markdown", "csv"};
  return words;
}

void print_answer(const std::string& format, const Table& table,
                  const std::function<Json()>& json) {
  const std::string text =
      format == "json" ? dump(json(), 2) + "\n"
                       : render(table, from_text<TableFormat>(format).value_or(TableFormat::kText));
  std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace batchsweep::cli
