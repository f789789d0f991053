// SPDX-License-Identifier: Apache-2.0
#include "sweeps/trial_spec.hpp"

#include <fmt/format.h>

#include <charconv>

#include "base/hash.hpp"

namespace batchsweep::sweeps {

std::string to_text(TrialId id) { return fmt::format("{:016x}", id.value); }

std::optional<TrialId> parse_trial_id(const std::string& hex16) {
  if (hex16.size() != 16 || hex16.find_first_not_of("0123456789abcdef") != std::string::npos)
    return std::nullopt;
  TrialId id;
  std::from_chars(hex16.data(), hex16.data() + hex16.size(), id.value, 16);
  return id;
}

std::string data_identity(const TrialSpec& spec) {
  if (spec.data_hash.empty()) return spec.data;
  return spec.data.substr(0, spec.data.find(':')) + ":sha256:" + spec.data_hash;
}

std::uint64_t trial_seed(const TrialSpec& spec, std::int64_t repeat) {
  const std::string& model = spec.model_source.empty() ? spec.model : spec.model_source;
  return sha256_prefix(fmt::format("seed={}\nmodel={}\ndata={}\nrepeat={}\n", spec.seed, model,
                                   data_identity(spec), repeat));
}

}  // namespace batchsweep::sweeps
