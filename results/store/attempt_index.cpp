// SPDX-License-Identifier: Apache-2.0
#include "results/store/attempt_index.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <unordered_map>

#include "base/error.hpp"

namespace batchsweep::results {
namespace {

std::uint64_t trial_number(std::string_view hex) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(hex.data(), hex.data() + hex.size(), value, 16);
  if (error != std::errc() || end != hex.data() + hex.size() || hex.size() != 16) {
    throw ResultsFileError("damaged: trial_id \"" + std::string(hex) + "\" is not 16 hex digits");
  }
  return value;
}

template <class Enum>
Enum word(const std::string& text, const char* column) {
  const auto value = from_text<Enum>(text);
  if (!value)
    throw ResultsFileError("unknown word in column " + std::string(column) + ": \"" + text +
                           "\"; written by a newer version?");
  return *value;
}

std::uint64_t bit_of(std::int32_t attempt) {
  return attempt >= 1 && attempt <= 64 ? std::uint64_t{1} << (attempt - 1) : 0;
}

bool is_placeholder(Outcome outcome, Reason reason) {
  return outcome == Outcome::kSkipped && !is_final(outcome, reason, 0, 0);
}

// How much an attempt is worth as the row: final beats what may run again, and that beats a device
// that was not there.
int class_of(Outcome outcome, Reason reason) {
  if (reason == Reason::kOrchestratorDied) return 0;
  if (is_placeholder(outcome, reason)) return 1;
  const bool final_at_once =
      outcome != Outcome::kCrashed && outcome != Outcome::kLost && is_final(outcome, reason, 0, 0);
  return final_at_once ? 3 : 2;
}

struct Key {
  std::uint64_t trial;
  std::uint32_t run;
  std::int32_t repeat;
  bool operator==(const Key&) const = default;
};
struct KeyHash {
  // A trial id is a hash already.
  std::size_t operator()(const Key& key) const {
    return key.trial ^ (std::uint64_t{key.run} << 40) ^
           (static_cast<std::uint64_t>(static_cast<std::uint32_t>(key.repeat)) *
            0x9E3779B97F4A7C15U);
  }
};

}  // namespace

std::uint32_t AttemptIndex::run_number(const std::string& run_id) {
  for (std::size_t i = runs_.size(); i-- > 0;) {
    if (runs_[i] == run_id) return static_cast<std::uint32_t>(i);
  }
  runs_.push_back(run_id);
  return static_cast<std::uint32_t>(runs_.size() - 1);
}

void AttemptIndex::add(const TrialRecord& record, std::uint32_t row) {
  last_sequence_ = std::max(last_sequence_, record.sequence);
  items_.push_back({.trial = trial_number(record.trial_id),
                    .sequence = record.sequence,
                    .run = run_number(record.run_id),
                    .row = row,
                    .repeat = static_cast<std::int32_t>(record.repeat),
                    .attempt = static_cast<std::int32_t>(record.attempt),
                    .outcome = word<Outcome>(record.outcome, "outcome"),
                    .reason = word<Reason>(record.reason, "reason")});
  built_ = false;
}

void AttemptIndex::add_started(const std::string& run_id, const std::string& trial_id,
                               std::int64_t repeat, std::int64_t attempt) {
  items_.push_back({.trial = trial_number(trial_id),
                    .sequence = last_sequence_,
                    .run = run_number(run_id),
                    .repeat = static_cast<std::int32_t>(repeat),
                    .attempt = static_cast<std::int32_t>(attempt),
                    .started_only = true});
  built_ = false;
}

void AttemptIndex::build() {
  if (built_) return;
  built_ = true;
  std::stable_sort(items_.begin(), items_.end(),
                   [](const Item& a, const Item& b) { return a.sequence < b.sequence; });
  entries_.clear();
  std::unordered_map<Key, std::uint32_t, KeyHash> places;
  places.reserve(items_.size());
  for (std::uint32_t i = 0; i < items_.size(); ++i) {
    Item& item = items_[i];
    const auto [place, is_new] = places.try_emplace({item.trial, item.run, item.repeat},
                                                    static_cast<std::uint32_t>(entries_.size()));
    if (is_new) {
      Entry entry;
      entry.run = item.run;
      entry.state.trial = {item.trial};
      entry.state.repeat = item.repeat;
      entries_.push_back(entry);
    }
    merge(item, i, entries_[place->second]);
  }
  for (Entry& entry : entries_) {
    entry.state.open_starts += std::popcount(entry.open);
    entry.state.has_row = entry.best_class > 0;
    if (entry.state.has_row) {
      entry.state.outcome = items_[entry.best].outcome;
      entry.state.reason = items_[entry.best].reason;
    } else {
      entry.state.reason = Reason::kOrchestratorDied;
    }
  }
}

void AttemptIndex::merge(Item& item, std::uint32_t index, Entry& entry) {
  const std::uint64_t bit = bit_of(item.attempt);
  const int own_class = class_of(item.outcome, item.reason);
  item.superseded = false;
  if (own_class != 1 || item.started_only)
    entry.state.attempts = std::max(entry.state.attempts, item.attempt);
  if (item.started_only) {
    entry.open |= bit;
    return;
  }
  if (own_class != 1) {
    const bool late = (entry.seen & bit) != 0;  // its attempt was given up, and counted, before
    entry.seen |= bit;
    entry.open &= ~bit;
    if (late) return;
    if (item.outcome == Outcome::kCrashed || item.outcome == Outcome::kLost)
      ++entry.state.executions;
    if (item.reason == Reason::kOrchestratorDied) ++entry.state.open_starts;
  }
  const bool wins =
      own_class > entry.best_class || (own_class == entry.best_class && own_class > 0 &&
                                       item.attempt >= items_[entry.best].attempt);
  if (entry.best_class == 1 && own_class > 0 && wins) items_[entry.best].superseded = true;
  if (own_class == 1 && !wins) item.superseded = true;
  if (!wins) return;
  entry.best = index;
  entry.best_class = own_class;
}

AttemptIndex::Selection AttemptIndex::select() {
  build();
  std::vector<bool> is_row(items_.size(), false);
  for (const Entry& entry : entries_) {
    if (entry.best_class > 0) is_row[entry.best] = true;
  }
  Selection selection;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    if (items_[i].started_only || items_[i].superseded) continue;
    (is_row[i] ? selection.trials : selection.attempts).push_back(items_[i].row);
  }
  return selection;
}

std::vector<RecordedState> AttemptIndex::states(const std::vector<RunInfo>& runs) {
  build();
  std::unordered_map<std::uint32_t, std::uint32_t> places;
  for (const RunInfo& run : runs)
    places.try_emplace(run_number(run.run_id), static_cast<std::uint32_t>(places.size()));
  std::vector<RecordedState> states;
  for (const Entry& entry : entries_) {
    const auto place = places.find(entry.run);
    if (place == places.end()) continue;
    states.push_back(entry.state);
    states.back().run = place->second;
  }
  return states;
}

std::vector<AttemptIndex::OpenStart> AttemptIndex::open_starts() {
  build();
  std::vector<OpenStart> open;
  for (const Entry& entry : entries_) {
    for (std::uint64_t bits = entry.open; bits != 0; bits &= bits - 1) {
      open.push_back(
          {runs_[entry.run], entry.state.trial, entry.state.repeat, std::countr_zero(bits) + 1});
    }
  }
  return open;
}

}  // namespace batchsweep::results
