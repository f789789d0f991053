// SPDX-License-Identifier: Apache-2.0
// bytes <-> messages. The first byte is the protocol's version: another one is refused by name, never half understood.
#pragma once

#include <string>
#include <string_view>

#include "worker/protocol/messages.hpp"

namespace batchsweep::protocol {

[[nodiscard]] std::string encode(const AgentMessage& message);
[[nodiscard]] std::string encode(const OrchestratorMessage& message);
// Throw ProtocolError (base/error.hpp family, exit code 1): other version, unknown kind, malformed.
[[nodiscard]] AgentMessage decode_agent_message(std::string_view bytes);
[[nodiscard]] OrchestratorMessage decode_orchestrator_message(std::string_view bytes);

}  // namespace batchsweep::protocol
