// SPDX-License-Identifier: Apache-2.0
#include "results/record/fields.hpp"

#include <cmath>

#include "results/record/record_text.hpp"

namespace batchsweep::results {
namespace {

template <class Record>
void set_json(Json& json, const Record& record, const Field<Record>& field) {
  const std::string name(field.name);
  if (const auto* text = std::get_if<std::string Record::*>(&field.member)) {
    if (!(record.**text).empty()) json[name] = record.**text;
  } else if (const auto* number = std::get_if<Number Record::*>(&field.member)) {
    const Number& value = record.**number;
    if (!value || std::isnan(*value)) return;
    if (std::isinf(*value)) {
      json[name] = *value > 0 ? "inf" : "-inf";
    } else {
      json[name] = *value;
    }
  } else if (const auto* integer = std::get_if<std::int64_t Record::*>(&field.member)) {
    json[name] = record.**integer;
  } else if (const auto* flag = std::get_if<bool Record::*>(&field.member)) {
    if (record.**flag) json[name] = true;
  }
}

}  // namespace

template <class Record>
void clear_record(Record& record) {
  for (const Field<Record>& field : fields_of<Record>()) {
    if (const auto* text = std::get_if<std::string Record::*>(&field.member)) {
      (record.**text).clear();
    } else if (const auto* number = std::get_if<Number Record::*>(&field.member)) {
      (record.**number).reset();
    } else if (const auto* integer = std::get_if<std::int64_t Record::*>(&field.member)) {
      record.** integer = 0;
    } else if (const auto* flag = std::get_if<bool Record::*>(&field.member)) {
      record.** flag = false;
    }
  }
}

template <class Record>
Json record_to_json(const Record& record) {
  Json json = Json::object();
  for (const Field<Record>& field : fields_of<Record>()) set_json(json, record, field);
  return json;
}

template <class Record>
Record record_from_json(const Json& json) {
  Record record;
  const std::string text = dump(json);
  JsonCursor cursor(text);
  read_json(cursor, record);
  return record;
}

template void clear_record(TrialRecord&);
template void clear_record(RankRecord&);
template void clear_record(SoftwareRecord&);
template void clear_record(HostRecord&);
template Json record_to_json(const TrialRecord&);
template Json record_to_json(const RankRecord&);
template Json record_to_json(const SoftwareRecord&);
template Json record_to_json(const HostRecord&);
template TrialRecord record_from_json(const Json&);
template RankRecord record_from_json(const Json&);
template SoftwareRecord record_from_json(const Json&);
template HostRecord record_from_json(const Json&);

Json to_json(const AttemptRecord& attempt) {
  std::string text;
  append_json(text, attempt);
  return Json::parse(text);
}

AttemptRecord attempt_from_json(const Json& json) {
  AttemptRecord attempt;
  const std::string text = dump(json);
  JsonCursor cursor(text);
  read_json(cursor, attempt, Detail::kAll);
  return attempt;
}

}  // namespace batchsweep::results
