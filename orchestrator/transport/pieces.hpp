// SPDX-License-Identifier: Apache-2.0
// Long messages in pieces: MPI moves small messages without waiting for the receiver, so none of ours is longer than 32 KiB. A piece is
// one byte for the role, one that says whether more follow, then the bytes. Knows nothing of MPI.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "worker/protocol/transport.hpp"

namespace batchsweep::orchestrator {

inline constexpr std::size_t kPieceBytes = 32 * 1024;

[[nodiscard]] std::vector<std::string> cut_into_pieces(protocol::Role role, std::string_view bytes);

// Pieces of one peer and role arrive in order; those of different peers interleave.
class PieceAssembler {
 public:
  // The whole message, once its last piece is here. Throws ProtocolError for what is no piece.
  [[nodiscard]] std::optional<protocol::Incoming> add(protocol::PeerId from, std::string_view piece);

 private:
  std::map<std::pair<protocol::PeerId, protocol::Role>, std::string> partial_;
};

}  // namespace batchsweep::orchestrator
