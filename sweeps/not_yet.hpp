// SPDX-License-Identifier: Apache-2.0
// What the sweep file's language knows but this version cannot do yet, in one table. Such a value
// is checked like any other and then refused by name: nothing is ignored silently. A feature that
// arrives deletes its line.
#pragma once

#include <string>
#include <string_view>

#include "sweeps/table_reader.hpp"

namespace batchsweep::sweeps {

// `name` is the key without its section ("schedule"), `key` as findings tell it ("trial.schedule"),
// `value` its text form. In a rehearsal nothing trains, so keys that only say how to train are
// allowed there.
bool refuse_not_yet(std::string_view name, std::string_view value, bool rehearsal,
                    const Place& place, const std::string& key, Findings& findings);

}  // namespace batchsweep::sweeps
