// SPDX-License-Identifier: Apache-2.0
// Point to point only. A dead peer never shows as an error in MPI: sends to it stay open and receives stay silent, so nothing here may wait
// for one. After a peer is lost MPI_Finalize would wait for ever: close() then says so and the process leaves by _exit.
#include <mpi.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <deque>
#include <list>
#include <set>
#include <thread>

#include "base/error.hpp"
#include "orchestrator/transport/pieces.hpp"
#include "orchestrator/transport/transports.hpp"

namespace batchsweep::orchestrator {
namespace {

constexpr int kTag = 1;

void check_mpi(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw MpiError(std::string(what) + ": " + std::string(text, static_cast<std::size_t>(length)));
}

// A send or receive under way; its buffer must stay where it is until MPI is done with it.
struct Transfer {
  protocol::PeerId peer = 0;
  std::string bytes;
  MPI_Request request = MPI_REQUEST_NULL;
  bool done = false;

  [[nodiscard]] bool test() {
    if (done) return true;
    int flag = 0;
    check_mpi(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), "MPI_Test");
    return done = flag != 0;
  }
};

class MpiTransport final : public protocol::Transport {
 public:
  MpiTransport() : under_mpirun_(std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr) {
    int provided = 0;
    check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SINGLE, &provided), "MPI_Init");
    check_mpi(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &self_), "MPI_Comm_rank");
    check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &size_), "MPI_Comm_size");
  }

  [[nodiscard]] protocol::PeerId self() const override { return self_; }
  [[nodiscard]] int size() const override { return size_; }

  void send(protocol::PeerId peer, protocol::Role role, std::string bytes) override {
    if (peer == self_) {
      local_.push_back({self_, role, std::move(bytes)});
      return;
    }
    if (lost_.contains(peer)) return;
    for (std::string& piece : cut_into_pieces(role, bytes)) {
      Transfer& transfer = sends_.emplace_back();
      transfer.peer = peer;
      transfer.bytes = std::move(piece);
      check_mpi(MPI_Isend(transfer.bytes.data(), static_cast<int>(transfer.bytes.size()), MPI_BYTE, peer, kTag,
                          MPI_COMM_WORLD, &transfer.request),
                "MPI_Isend");
    }
  }

  [[nodiscard]] std::optional<protocol::Incoming> receive() override {
    if (!local_.empty()) {
      protocol::Incoming incoming = std::move(local_.front());
      local_.pop_front();
      return incoming;
    }
    // The first probe often only drives progress: the second one sees what that brought.
    if (!start_receive()) (void)start_receive();
    sends_.remove_if([](Transfer& transfer) { return transfer.test(); });
    return finished_message();
  }

  void forget(protocol::PeerId peer) override { lost_.insert(peer); }

  [[nodiscard]] bool close(double seconds) override {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    const auto open = [&] {
      sends_.remove_if([](Transfer& transfer) { return transfer.test(); });
      return !sends_.empty();
    };
    while (lost_.empty() && open()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (!lost_.empty()) return false;
    // Finalizing waits for all peers. One that died just now must not keep this process; but mpirun ends all when one dies, and
    // takes a rank that leaves before the others for dead: a process that rests waits here for the end.
    if (self_ == 0 || !under_mpirun_) alarm(static_cast<unsigned>(seconds) + 1);
    MPI_Finalize();
    alarm(0);
    return true;
  }

 private:
  // Matches one waiting message and starts its receive; false if none waits.
  bool start_receive() {
    int found = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    check_mpi(MPI_Improbe(MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, &found, &message, &status), "MPI_Improbe");
    if (found == 0) return false;
    int size = 0;
    check_mpi(MPI_Get_count(&status, MPI_BYTE, &size), "MPI_Get_count");
    Transfer& transfer = receives_.emplace_back();
    transfer.peer = status.MPI_SOURCE;
    transfer.bytes.resize(static_cast<std::size_t>(size));
    check_mpi(MPI_Imrecv(transfer.bytes.data(), size, MPI_BYTE, &message, &transfer.request), "MPI_Imrecv");
    return true;
  }

  // Takes finished receives until one completes a message. A peer's pieces keep their order: an unfinished one holds back its own peer only.
  [[nodiscard]] std::optional<protocol::Incoming> finished_message() {
    std::set<protocol::PeerId> held_back;
    for (auto it = receives_.begin(); it != receives_.end();) {
      if (held_back.contains(it->peer) || !it->test()) {
        held_back.insert(it->peer);
        ++it;
        continue;
      }
      std::optional<protocol::Incoming> whole = assembler_.add(it->peer, it->bytes);
      it = receives_.erase(it);
      if (whole) return whole;
    }
    return std::nullopt;
  }

  bool under_mpirun_;
  int self_ = 0, size_ = 1;
  std::deque<protocol::Incoming> local_;
  std::list<Transfer> sends_, receives_;  // lists: buffers must not move
  PieceAssembler assembler_;
  std::set<protocol::PeerId> lost_;
};

}  // namespace

std::unique_ptr<protocol::Transport> make_mpi_transport() { return std::make_unique<MpiTransport>(); }

}  // namespace batchsweep::orchestrator
