// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <string_view>
#include <typeinfo>

#include "base/unique_handle.hpp"
#include "worker/train/process_group.hpp"
#include "worker/train/trial_errors.hpp"

namespace batchsweep::train {
namespace {

// To a store that is known to be there: an answer comes at once, or a firewall swallows the
// question.
constexpr std::chrono::seconds kConnectTimeout(60);
// For the others' keys: they may still be starting.
constexpr std::chrono::hours kWaitForPeers(24 * 7);

[[noreturn]] void refuse(const std::string& address, const std::string& why) {
  throw LaunchFault(fmt::format("cannot listen on {} for the other ranks: {}", address, why));
}

UniqueFd listening_socket(const std::string& address) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(address.c_str(), "0", &hints, &found); error != 0)
    refuse(address, gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> own(found, freeaddrinfo);
  UniqueFd fd(socket(own->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  constexpr int kQueue = 1024;
  if (!fd || bind(fd.get(), own->ai_addr, own->ai_addrlen) != 0 || listen(fd.get(), kQueue) != 0)
    refuse(address, std::strerror(errno));
  return fd;
}

}  // namespace

OpenedStore open_store(const std::string& address) {
  UniqueFd socket = listening_socket(address);
  c10d::TCPStoreOptions options;
  options.port = 0;
  options.isServer = true;
  options.waitWorkers = false;
  options.timeout = kConnectTimeout;
  options.masterListenFd = socket.release();
  try {
    const auto store = c10::make_intrusive<c10d::TCPStore>(address, options);
    store->setTimeout(kWaitForPeers);
    return {.store = store, .at = {.host = address, .port = store->getPort()}};
  } catch (const c10::Error& error) {
    refuse(address, error.what_without_backtrace());
  }
}

StorePtr connect_store(const protocol::Rendezvous& at) {
  c10d::TCPStoreOptions options;
  options.port = at.port;
  options.waitWorkers = false;
  options.timeout = kConnectTimeout;
  const auto store = c10::make_intrusive<c10d::TCPStore>(at.host, options);
  store->setTimeout(kWaitForPeers);
  return store;
}

bool is_lost_peer(const std::exception& error) {
  // Gloo's own exceptions have no header that could be trusted; their types have names.
  constexpr std::string_view kGloo = "N4gloo";
  return dynamic_cast<const c10::DistError*>(&error) != nullptr ||
         std::string_view(typeid(error).name()).starts_with(kGloo);
}

}  // namespace batchsweep::train
