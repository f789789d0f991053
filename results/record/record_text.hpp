// SPDX-License-Identifier: Apache-2.0
// An attempt as JSON text, written and read straight from the field table: what the journal holds.
// The same text as to_json() gives, in a tenth of the time. Knows no files.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>

#include "results/record/json_cursor.hpp"
#include "results/record/trial_record.hpp"

namespace batchsweep::results {

// A JSON string with its quotes; bytes that are not UTF-8 become U+FFFD, NUL (which HDF5's text
// cannot hold) U+2400.
void append_json_text(std::string& out, std::string_view text);
void append_json_number(std::string& out, double value);  // NaN: null; infinities: "inf", "-inf"

// Compact, absent members left out.
template <class Record>
void append_json(std::string& out, const Record& record);
// Replaces all of `out`; unknown members are skipped. Throws ResultsFileError.
template <class Record>
void read_json(JsonCursor& cursor, Record& out);

void append_json(std::string& out, const AttemptRecord& attempt);
// The same, but software and hosts whose id is in `known` are written as their id only; the others in full, and their ids added.
using KnownIds = std::unordered_set<std::string>;
void append_json(std::string& out, const AttemptRecord& attempt, KnownIds& known);

enum class Detail { kTrial, kAll };
// kTrial reads the trial and its software only: ranks, steps, hosts and log stay empty and are not looked into.
void read_json(JsonCursor& cursor, AttemptRecord& out, Detail detail);

}  // namespace batchsweep::results
