// SPDX-License-Identifier: Apache-2.0
#include <deque>

#include "base/check.hpp"
#include "orchestrator/transport/transports.hpp"

namespace batchsweep::orchestrator {
namespace {

class LoopbackTransport final : public protocol::Transport {
 public:
  [[nodiscard]] protocol::PeerId self() const override { return 0; }
  [[nodiscard]] int size() const override { return 1; }
  void send(protocol::PeerId peer, protocol::Role role, std::string bytes) override {
    BATCHSWEEP_ASSERT(peer == 0);
    queue_.push_back({0, role, std::move(bytes)});
  }
  [[nodiscard]] std::optional<protocol::Incoming> receive() override {
    if (queue_.empty()) return std::nullopt;
    protocol::Incoming incoming = std::move(queue_.front());
    queue_.pop_front();
    return incoming;
  }
  void forget(protocol::PeerId) override {}
  [[nodiscard]] bool close(double) override { return true; }

 private:
  std::deque<protocol::Incoming> queue_;
};

}  // namespace

std::unique_ptr<protocol::Transport> make_loopback_transport() { return std::make_unique<LoopbackTransport>(); }

}  // namespace batchsweep::orchestrator
