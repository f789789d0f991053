// SPDX-License-Identifier: Apache-2.0
// THE field table: every recorded column's name, unit, meaning and place in its struct, once. HDF5 layout, CSV, JSON, the journal and
// docs/file_format.md all come from here; a new column is one line in fields.cpp and one member.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "base/json.hpp"
#include "results/record/trial_record.hpp"

namespace batchsweep::results {

template <class Record>
struct Field {
  using Member = std::variant<std::string Record::*, std::int64_t Record::*, Number Record::*, bool Record::*>;
  std::string_view name;
  std::string_view unit;  // "s", "bytes", "1/s", "" ...
  std::string_view meaning;
  Member member;
};

// fields_of<TrialRecord>(), <RankRecord>, <SoftwareRecord>, <HostRecord>: in the order of the file's columns.
template <class Record>
[[nodiscard]] std::span<const Field<Record>> fields_of();
template <>
std::span<const Field<TrialRecord>> fields_of<TrialRecord>();
template <>
std::span<const Field<RankRecord>> fields_of<RankRecord>();
template <>
std::span<const Field<SoftwareRecord>> fields_of<SoftwareRecord>();
template <>
std::span<const Field<HostRecord>> fields_of<HostRecord>();

// Every text empty, number absent, integer 0, flag false: what a JSON object without members means.
template <class Record>
void clear_record(Record& record);

// Compact JSON object: empty text, absent numbers and false are left out (infinite numbers are the texts "inf" and "-inf", NaN is
// absent); and back (unknown keys ignored). Throws ResultsFileError where a value has another type.
template <class Record>
[[nodiscard]] Json record_to_json(const Record& record);
template <class Record>
[[nodiscard]] Record record_from_json(const Json& json);

[[nodiscard]] Json to_json(const AttemptRecord& attempt);
[[nodiscard]] AttemptRecord attempt_from_json(const Json& json);

}  // namespace batchsweep::results
