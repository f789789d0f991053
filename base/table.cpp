// SPDX-License-Identifier: Apache-2.0
#include "base/table.hpp"

#include <algorithm>

namespace batchsweep {
namespace {

using Row = std::vector<std::string>;

const std::string& cell(const Row& row, std::size_t column) {
  static const std::string empty;
  return column < row.size() ? row[column] : empty;
}

// Code points, which is what a terminal shows for the names and units that occur here.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

bool starts_like_a_number(const std::string& text) {
  const std::size_t at = text.find_first_not_of("+-<>=~ ");
  return at != std::string::npos && text[at] >= '0' && text[at] <= '9';
}

struct Column {
  std::size_t width = 0;
  bool right = false;
};

std::vector<Column> measure(const Table& table) {
  std::vector<Column> columns(table.header.size());
  for (std::size_t c = 0; c < columns.size(); ++c) {
    columns[c].width = width(table.header[c]);
    bool any = false, numbers = true;
    for (const Row& row : table.rows) {
      const std::string& text = cell(row, c);
      columns[c].width = std::max(columns[c].width, width(text));
      if (text.empty()) continue;
      any = true;
      numbers = numbers && starts_like_a_number(text);
    }
    columns[c].right = any && numbers;
  }
  return columns;
}

std::string padded(const std::string& text, const Column& column) {
  const std::string fill(column.width - width(text), ' ');
  return column.right ? fill + text : text + fill;
}

std::string text_line(const Row& row, const std::vector<Column>& columns) {
  std::string line;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (c > 0) line += "  ";
    line += padded(cell(row, c), columns[c]);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + '\n';
}

std::string render_text(const Table& table) {
  const std::vector<Column> columns = measure(table);
  std::string text = text_line(table.header, columns);
  for (const Row& row : table.rows) text += text_line(row, columns);
  return text;
}

std::string markdown_line(const Row& row, const std::vector<Column>& columns) {
  std::string line = "|";
  for (std::size_t c = 0; c < columns.size(); ++c)
    line += ' ' + padded(cell(row, c), columns[c]) + " |";
  return line + '\n';
}

std::string without_bars(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2)
    text.insert(at, 1, '\\');
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::string render_markdown(Table table) {
  for (std::string& text : table.header) text = without_bars(std::move(text));
  for (Row& row : table.rows) {
    for (std::string& text : row) text = without_bars(std::move(text));
  }
  const std::vector<Column> columns = measure(table);
  std::string text = markdown_line(table.header, columns) + '|';
  for (const Column& column : columns)
    text += std::string(column.width + 1, '-') + (column.right ? ":|" : "-|");
  text += '\n';
  for (const Row& row : table.rows) text += markdown_line(row, columns);
  return text;
}

std::string render_csv(const Table& table) {
  std::string text;
  const auto add = [&](const Row& row) {
    for (std::size_t c = 0; c < table.header.size(); ++c) {
      if (c > 0) text += ',';
      text += csv_cell(cell(row, c));
    }
    text += '\n';
  };
  add(table.header);
  for (const Row& row : table.rows) add(row);
  return text;
}

}  // namespace

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string render(const Table& table, TableFormat format) {
  switch (format) {
    case TableFormat::kText:
      return render_text(table);
    case TableFormat::kMarkdown:
      return render_markdown(table);
    case TableFormat::kCsv:
      return render_csv(table);
  }
  return {};
}

}  // namespace batchsweep
