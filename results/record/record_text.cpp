// SPDX-License-Identifier: Apache-2.0
#include "results/record/record_text.hpp"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <cmath>

#include "base/text.hpp"
#include "results/record/fields.hpp"

namespace batchsweep::results {
namespace {

void append_control(std::string& out, unsigned char c) {
  switch (c) {
    case '\0':
      out += "\xE2\x90\x80";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\t':
      out += "\\t";
      return;
    case '\r':
      out += "\\r";
      return;
    default:
      out += fmt::format("\\u{:04x}", c);
  }
}

void append_utf8_text(std::string& out, std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20) {
      append_control(out, byte);
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
}

template <class T>
void append_plain(std::string& out, T value) {
  char buffer[40];
  out.append(buffer, fmt::format_to(buffer, FMT_COMPILE("{}"), value));
}

// ,"key":
void append_key(std::string& out, std::string_view key) {
  if (out.back() != '{') out += ',';
  out += '"';
  out += key;
  out += "\":";
}

template <class Record>
void append_field(std::string& out, const Record& record, const Field<Record>& field) {
  if (const auto* text = std::get_if<std::string Record::*>(&field.member)) {
    if ((record.**text).empty()) return;
    append_key(out, field.name);
    append_json_text(out, record.**text);
  } else if (const auto* number = std::get_if<Number Record::*>(&field.member)) {
    if (!(record.**number) || std::isnan(*(record.**number))) return;
    append_key(out, field.name);
    append_json_number(out, *(record.**number));
  } else if (const auto* integer = std::get_if<std::int64_t Record::*>(&field.member)) {
    append_key(out, field.name);
    append_plain(out, record.**integer);
  } else if (const auto* flag = std::get_if<bool Record::*>(&field.member)) {
    if (!(record.**flag)) return;
    append_key(out, field.name);
    out += "true";
  }
}

template <class Record>
void read_field(JsonCursor& cursor, Record& record, const Field<Record>& field) {
  if (const auto* text = std::get_if<std::string Record::*>(&field.member)) {
    cursor.text(record.**text);
  } else if (const auto* number = std::get_if<Number Record::*>(&field.member)) {
    const double value = cursor.number();
    if (!std::isnan(value)) record.** number = value;
  } else if (const auto* integer = std::get_if<std::int64_t Record::*>(&field.member)) {
    record.** integer = cursor.integer();
  } else if (const auto* flag = std::get_if<bool Record::*>(&field.member)) {
    record.** flag = cursor.flag();
  }
}

void append_series(std::string& out, std::string_view key, const std::vector<double>& values) {
  if (values.empty()) return;
  append_key(out, key);
  out += '[';
  for (const double value : values) {
    if (out.back() != '[') out += ',';
    append_json_number(out, value);
  }
  out += ']';
}

void read_series(JsonCursor& cursor, std::vector<double>& values) {
  cursor.enter_array();
  while (cursor.next_element()) values.push_back(cursor.number());
}

void append_json(std::string& out, const StepTimes& steps) {
  out += '{';
  append_key(out, "rank");
  append_plain(out, steps.rank);
  append_key(out, "warmup_steps");
  append_plain(out, steps.warmup_steps);
  append_series(out, "time_s", steps.time_s);
  append_series(out, "loss", steps.loss);
  out += '}';
}

void read_json(JsonCursor& cursor, StepTimes& out) {
  std::string_view key;
  cursor.enter_object();
  while (cursor.next_member(key)) {
    if (key == "rank") {
      out.rank = cursor.integer();
    } else if (key == "warmup_steps") {
      out.warmup_steps = cursor.integer();
    } else if (key == "time_s") {
      read_series(cursor, out.time_s);
    } else if (key == "loss") {
      read_series(cursor, out.loss);
    } else {
      cursor.skip();
    }
  }
}

template <class Item>
void append_list(std::string& out, std::string_view key, const std::vector<Item>& items) {
  if (items.empty()) return;
  append_key(out, key);
  out += '[';
  for (const Item& item : items) {
    if (out.back() != '[') out += ',';
    append_json(out, item);
  }
  out += ']';
}

template <class Record>
void append_once(std::string& out, const Record& record, char kind, KnownIds& known) {
  if (known.insert(kind + record.id).second) {
    append_json(out, record);
  } else {
    Record id_only;
    id_only.id = record.id;
    append_json(out, id_only);
  }
}

template <class Item>
void read_list(JsonCursor& cursor, std::vector<Item>& items) {
  cursor.enter_array();
  while (cursor.next_element()) read_json(cursor, items.emplace_back());
}

}  // namespace

void append_json_text(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const auto bad = first_invalid_utf8(text);
    append_utf8_text(out, text.substr(0, bad.value_or(text.size())));
    if (!bad) break;
    out += "\xEF\xBF\xBD";
    text.remove_prefix(*bad + 1);
  }
  out += '"';
}

void append_json_number(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "null";
  } else if (std::isinf(value)) {
    out += value > 0 ? "\"inf\"" : "\"-inf\"";
  } else {
    append_plain(out, value);
  }
}

template <class Record>
void append_json(std::string& out, const Record& record) {
  out += '{';
  for (const Field<Record>& field : fields_of<Record>()) append_field(out, record, field);
  out += '}';
}

template <class Record>
void read_json(JsonCursor& cursor, Record& out) {
  clear_record(out);
  const auto fields = fields_of<Record>();
  std::size_t next = 0;  // members come in the table's order, so the search is short
  std::string_view key;
  cursor.enter_object();
  while (cursor.next_member(key)) {
    std::size_t tried = 0;
    while (tried < fields.size() && fields[next].name != key) {
      next = next + 1 == fields.size() ? 0 : next + 1;
      ++tried;
    }
    if (tried == fields.size()) {
      cursor.skip();
    } else {
      read_field(cursor, out, fields[next]);
    }
  }
}

template void append_json(std::string&, const TrialRecord&);
template void append_json(std::string&, const RankRecord&);
template void append_json(std::string&, const SoftwareRecord&);
template void append_json(std::string&, const HostRecord&);
template void read_json(JsonCursor&, TrialRecord&);
template void read_json(JsonCursor&, RankRecord&);
template void read_json(JsonCursor&, SoftwareRecord&);
template void read_json(JsonCursor&, HostRecord&);

void append_json(std::string& out, const AttemptRecord& attempt, KnownIds& known) {
  out += '{';
  append_key(out, "trial");
  append_json(out, attempt.trial);
  append_list(out, "ranks", attempt.ranks);
  append_list(out, "steps", attempt.steps);
  if (!attempt.software.id.empty()) {
    append_key(out, "software");
    append_once(out, attempt.software, 's', known);
  }
  if (!attempt.hosts.empty()) {
    append_key(out, "hosts");
    out += '[';
    for (const HostRecord& host : attempt.hosts) {
      if (out.back() != '[') out += ',';
      append_once(out, host, 'h', known);
    }
    out += ']';
  }
  if (!attempt.log.empty()) {
    append_key(out, "log");
    append_json_text(out, attempt.log);
  }
  out += '}';
}

void append_json(std::string& out, const AttemptRecord& attempt) {
  KnownIds none;
  append_json(out, attempt, none);
}

void read_json(JsonCursor& cursor, AttemptRecord& out, Detail detail) {
  out.ranks.clear();
  out.steps.clear();
  out.software = {};
  out.hosts.clear();
  out.log.clear();
  std::string_view key;
  cursor.enter_object();
  while (cursor.next_member(key)) {
    if (key == "trial") {
      read_json(cursor, out.trial);
    } else if (key == "software") {
      read_json(cursor, out.software);
    } else if (detail == Detail::kTrial) {
      cursor.skip();
    } else if (key == "ranks") {
      read_list(cursor, out.ranks);
    } else if (key == "steps") {
      read_list(cursor, out.steps);
    } else if (key == "hosts") {
      read_list(cursor, out.hosts);
    } else if (key == "log") {
      cursor.text(out.log);
    } else {
      cursor.skip();
    }
  }
}

}  // namespace batchsweep::results
