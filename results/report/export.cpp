// SPDX-License-Identifier: Apache-2.0
#include "results/report/export.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/table.hpp"
#include "results/record/fields.hpp"
#include "results/record/record_text.hpp"

namespace batchsweep::results {
namespace {

// The shortest text that reads back as the same number.
void append_csv_value(std::string& out, const Number& value) {
  if (value && !std::isnan(*value)) fmt::format_to(std::back_inserter(out), "{}", *value);
}
void append_csv_value(std::string& out, std::int64_t value) {
  fmt::format_to(std::back_inserter(out), "{}", value);
}
void append_csv_value(std::string& out, bool value) { out += value ? "true" : "false"; }
void append_csv_value(std::string& out, const std::string& value) { out += csv_cell(value); }

void append_json_value(std::string& out, const Number& value) {
  append_json_number(out, value.value_or(std::nan("")));
}
void append_json_value(std::string& out, std::int64_t value) {
  fmt::format_to(std::back_inserter(out), "{}", value);
}
void append_json_value(std::string& out, bool value) { out += value ? "true" : "false"; }
void append_json_value(std::string& out, const std::string& value) { append_json_text(out, value); }

}  // namespace

void append_csv_header(std::string& out) {
  const char* comma = "";
  for (const Field<TrialRecord>& field : fields_of<TrialRecord>()) {
    out += comma;
    out += field.name;
    comma = ",";
  }
  out += '\n';
}

void append_csv_row(std::string& out, const TrialRecord& trial) {
  const char* comma = "";
  for (const Field<TrialRecord>& field : fields_of<TrialRecord>()) {
    out += comma;
    std::visit([&](auto member) { append_csv_value(out, trial.*member); }, field.member);
    comma = ",";
  }
  out += '\n';
}

void append_json_row(std::string& out, const TrialRecord& trial) {
  char before = '{';
  for (const Field<TrialRecord>& field : fields_of<TrialRecord>()) {
    out += before;
    append_json_text(out, field.name);
    out += ':';
    std::visit([&](auto member) { append_json_value(out, trial.*member); }, field.member);
    before = ',';
  }
  out += '}';
}

}  // namespace batchsweep::results
