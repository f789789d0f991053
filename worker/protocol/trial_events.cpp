// SPDX-License-Identifier: Apache-2.0
#include "worker/protocol/trial_events.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "base/json.hpp"
#include "results/record/fields.hpp"

namespace batchsweep::protocol {
namespace {

// What a trial may say about its own end; the other kinds are found by the agent or the core.
constexpr std::array kEndings = {
    EnumName<EvidenceKind>{EvidenceKind::kDeviceOutOfMemory, "out_of_memory"},
    EnumName<EvidenceKind>{EvidenceKind::kHostOutOfMemory, "host_out_of_memory"},
    EnumName<EvidenceKind>{EvidenceKind::kDiverged, "diverged"},
    EnumName<EvidenceKind>{EvidenceKind::kFailed, "failed"},
    EnumName<EvidenceKind>{EvidenceKind::kSkipped, "skipped"},
    EnumName<EvidenceKind>{EvidenceKind::kLostPeer, "lost_peer"}};

std::string quoted(std::string_view line) {
  constexpr std::size_t kMost = 160;
  return line.size() <= kMost
             ? fmt::format("'{}'", line)
             : fmt::format("'{}...' ({} bytes)", line.substr(0, kMost), line.size());
}

template <class E>
E enum_from(const Json& json, const char* key) {
  const auto name = json.at(key).get<std::string>();
  if (const auto value = from_text<E>(name)) return *value;
  throw ProtocolError(fmt::format("{}: unknown word '{}'", key, name));
}

// JSON has no NaN: null stands for it, and an absent member for an unknown number.
double number_or_nan(const Json& json) {
  return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}

std::vector<double> numbers(const Json& json, const char* key) {
  std::vector<double> values;
  if (const auto found = json.find(key); found != json.end()) {
    values.reserve(found->size());
    for (const Json& value : *found) values.push_back(number_or_nan(value));
  }
  return values;
}

Json steps_to_json(const results::StepTimes& steps) {
  Json json = {
      {"rank", steps.rank}, {"warmup_steps", steps.warmup_steps}, {"time_s", steps.time_s}};
  if (!steps.loss.empty()) json["loss"] = steps.loss;
  return json;
}

results::StepTimes steps_from_json(const Json& json) {
  results::StepTimes steps;
  steps.rank = get_optional<std::int64_t>(json, "rank").value_or(0);
  steps.warmup_steps = get_optional<std::int64_t>(json, "warmup_steps").value_or(0);
  steps.time_s = numbers(json, "time_s");
  steps.loss = numbers(json, "loss");
  if (!steps.loss.empty() && steps.loss.size() != steps.time_s.size()) {
    throw ProtocolError("steps: loss and time_s differ in length");
  }
  return steps;
}

void put(Json& json, const char* key, const std::optional<double>& value) {
  if (value) json[key] = *value;
}
void put(Json& json, const char* key, const std::optional<std::int64_t>& value) {
  if (value) json[key] = *value;
}

Json evidence_to_json(const Evidence& evidence) {
  Json json = Json::object();
  if (evidence.reason != results::Reason::kNone) json["reason"] = to_text(evidence.reason);
  json["phase"] = to_text(evidence.phase);
  json["message"] = evidence.message;
  put(json, "exit_code", evidence.exit_code);
  put(json, "signal", evidence.signal);
  put(json, "step", evidence.step);
  put(json, "oom_requested_bytes", evidence.oom_requested_bytes);
  put(json, "oom_allocated_bytes", evidence.oom_allocated_bytes);
  put(json, "oom_reserved_bytes", evidence.oom_reserved_bytes);
  put(json, "oom_limit_bytes", evidence.oom_limit_bytes);
  return json;
}

Evidence evidence_from_json(const Json& json, EvidenceKind kind) {
  Evidence evidence;
  evidence.kind = kind;
  if (json.contains("reason")) evidence.reason = enum_from<results::Reason>(json, "reason");
  evidence.phase = enum_from<results::Phase>(json, "phase");
  evidence.message = get_optional<std::string>(json, "message").value_or("");
  evidence.exit_code = get_optional<std::int64_t>(json, "exit_code");
  evidence.signal = get_optional<std::int64_t>(json, "signal");
  evidence.step = get_optional<std::int64_t>(json, "step");
  evidence.oom_requested_bytes = get_optional<double>(json, "oom_requested_bytes");
  evidence.oom_allocated_bytes = get_optional<double>(json, "oom_allocated_bytes");
  evidence.oom_reserved_bytes = get_optional<double>(json, "oom_reserved_bytes");
  evidence.oom_limit_bytes = get_optional<double>(json, "oom_limit_bytes");
  return evidence;
}

Json to_json(const Hello& hello) {
  return {{"event", "hello"},
          {"protocol", hello.protocol},
          {"software", results::record_to_json(hello.software)},
          {"precision_native", hello.precision_native},
          {"execution", hello.execution}};
}
Json to_json(const PhaseBegan& began) {
  return {{"event", "phase"}, {"phase", to_text(began.phase)}};
}
Json place_to_json(const Rendezvous& rendezvous) {
  return {{"host", rendezvous.host}, {"port", rendezvous.port}};
}
Rendezvous place_from_json(const Json& json) {
  return {.host = json.at("host").get<std::string>(), .port = json.at("port").get<std::uint16_t>()};
}
Json to_json(const Rendezvous& rendezvous) {
  Json json = place_to_json(rendezvous);
  json["event"] = "rendezvous";
  return json;
}
Json to_json(const StepDone& done) {
  Json json = {{"event", "step"}, {"step", done.step}, {"time_s", done.time_s}};
  put(json, "loss", done.loss);
  return json;
}
Json to_json(const Result& result) {
  return {{"event", "result"},
          {"measured", results::record_to_json(result.measured)},
          {"steps", steps_to_json(result.steps)}};
}
Json to_json(const Ending& ending) {
  std::string_view word;
  for (const auto& [kind, name] : kEndings) {
    if (kind == ending.evidence.kind) word = name;
  }
  BATCHSWEEP_ASSERT(!word.empty());
  return {{"event", word},
          {"evidence", evidence_to_json(ending.evidence)},
          {"measured", results::record_to_json(ending.measured)},
          {"steps", steps_to_json(ending.steps)}};
}

// Nearly all lines are steps, so they are read without building a tree. Anything unusual about one:
// nullopt, and the general way decides.
std::optional<StepDone> read_step(std::string_view line) {
  StepDone done;
  const auto take = [&](std::string_view text) {
    if (!line.starts_with(text)) return false;
    line.remove_prefix(text.size());
    return true;
  };
  const auto number = [&](auto& value) {
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
    if (error != std::errc{}) return false;
    line.remove_prefix(static_cast<std::size_t>(end - line.data()));
    return true;
  };
  if (!take(R"({"event":"step","step":)") || !number(done.step)) return std::nullopt;
  if (!take(R"(,"time_s":)") || !number(done.time_s)) return std::nullopt;
  if (take(R"(,"loss":)") && !number(done.loss.emplace())) return std::nullopt;
  if (line != "}" || !std::isfinite(done.time_s) || !std::isfinite(done.loss.value_or(0))) {
    return std::nullopt;
  }
  return done;
}

TrialEvent from_json(const Json& json) {
  const auto event = json.at("event").get<std::string>();
  if (event == "hello") {
    Hello hello{.protocol = json.at("protocol").get<int>(), .software = {}};
    if (const auto found = json.find("software"); found != json.end()) {
      hello.software = results::record_from_json<results::SoftwareRecord>(*found);
    }
    hello.precision_native = get_optional<bool>(json, "precision_native").value_or(true);
    hello.execution = get_optional<std::string>(json, "execution").value_or("");
    return hello;
  }
  if (event == "phase") return PhaseBegan{enum_from<results::Phase>(json, "phase")};
  if (event == "rendezvous") return place_from_json(json);
  if (event == "step") {
    StepDone done{json.at("step").get<std::int64_t>(), number_or_nan(json.at("time_s")),
                  std::nullopt};
    if (const auto loss = json.find("loss"); loss != json.end()) done.loss = number_or_nan(*loss);
    return done;
  }
  const auto measured = [&] {
    const auto found = json.find("measured");
    return found == json.end() ? results::RankRecord{}
                               : results::record_from_json<results::RankRecord>(*found);
  };
  const auto steps = [&] {
    const auto found = json.find("steps");
    return found == json.end() ? results::StepTimes{} : steps_from_json(*found);
  };
  if (event == "result") return Result{measured(), steps()};
  for (const auto& [kind, name] : kEndings) {
    if (event == name)
      return Ending{evidence_from_json(json.at("evidence"), kind), measured(), steps()};
  }
  throw ProtocolError(fmt::format("unknown event '{}'", event));
}

}  // namespace

std::string encode_line(const TrialEvent& event) {
  return std::visit([](const auto& e) { return dump(to_json(e)) + '\n'; }, event);
}

std::string rendezvous_line(const Rendezvous& rendezvous) {
  return dump(Json{{"rendezvous", place_to_json(rendezvous)}});
}

Rendezvous read_rendezvous_line(std::string_view line) {
  try {
    return place_from_json(Json::parse(line).at("rendezvous"));
  } catch (const Json::exception&) {
    throw ProtocolError(fmt::format("not a rendezvous: {}", quoted(line)));
  }
}

TrialEvent decode_line(std::string_view line) {
  if (const auto step = read_step(line)) return *step;
  try {
    return from_json(Json::parse(line));
  } catch (const Json::exception&) {
    throw ProtocolError(fmt::format("not an event: {}", quoted(line)));
  } catch (const ProtocolError& error) {
    throw ProtocolError(fmt::format("{} in {}", error.what(), quoted(line)));
  }
}

}  // namespace batchsweep::protocol
