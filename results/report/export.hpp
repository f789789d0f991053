// SPDX-License-Identifier: Apache-2.0
// Recorded rows as CSV and JSON: every column of the field table, numbers so that they come back as
// they were. Text only; whoever calls writes it to a file.
#pragma once

#include <string>

#include "results/record/trial_record.hpp"

namespace batchsweep::results {

// RFC 4180 with "\n"; an absent number is an empty cell, infinities are "inf" and "-inf".
void append_csv_header(std::string& out);
void append_csv_row(std::string& out, const TrialRecord& trial);
// An object with all columns; an absent number is null, infinities are the texts "inf" and "-inf".
void append_json_row(std::string& out, const TrialRecord& trial);

}  // namespace batchsweep::results
