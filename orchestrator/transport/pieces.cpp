// SPDX-License-Identifier: Apache-2.0
#include "orchestrator/transport/pieces.hpp"

#include "base/error.hpp"

namespace batchsweep::orchestrator {
namespace {

constexpr std::size_t kHeaderBytes = 2;
constexpr char kForOrchestrator = 'O', kForAgent = 'A', kMore = '+', kLast = '.';

}  // namespace

std::vector<std::string> cut_into_pieces(protocol::Role role, std::string_view bytes) {
  std::vector<std::string> pieces;
  do {
    const std::string_view part = bytes.substr(0, kPieceBytes - kHeaderBytes);
    bytes.remove_prefix(part.size());
    std::string& piece = pieces.emplace_back();
    piece.reserve(kHeaderBytes + part.size());
    piece += role == protocol::Role::kOrchestrator ? kForOrchestrator : kForAgent;
    piece += bytes.empty() ? kLast : kMore;
    piece += part;
  } while (!bytes.empty());
  return pieces;
}

std::optional<protocol::Incoming> PieceAssembler::add(protocol::PeerId from, std::string_view piece) {
  const bool known = piece.size() >= kHeaderBytes && (piece[0] == kForOrchestrator || piece[0] == kForAgent) &&
                     (piece[1] == kMore || piece[1] == kLast);
  if (!known) {
    throw ProtocolError("MPI rank " + std::to_string(from) +
                        " sent a message that is not ours: all ranks must run the same batchsweep");
  }
  const auto role = piece[0] == kForOrchestrator ? protocol::Role::kOrchestrator : protocol::Role::kAgent;
  std::string& partial = partial_[{from, role}];
  partial += piece.substr(kHeaderBytes);
  if (piece[1] == kMore) return std::nullopt;
  return protocol::Incoming{from, role, std::exchange(partial, {})};
}

}  // namespace batchsweep::orchestrator
