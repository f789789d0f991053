// SPDX-License-Identifier: Apache-2.0
// Can devices of this type do what a trial asks of them at all? Asked before anything is started.
// Pure.
#pragma once

#include <optional>
#include <string>

#include "worker/protocol/messages.hpp"

namespace batchsweep::orchestrator {

// Why not, as a sentence; nullopt: it can, or nobody knows. A catalogue name counts before the
// device that carries it, so that an emulated card lacks what the real one lacks.
[[nodiscard]] std::optional<std::string> why_unsupported(const std::string& precision,
                                                         std::int64_t world_size,
                                                         const protocol::DeviceOffer& device);

}  // namespace batchsweep::orchestrator
