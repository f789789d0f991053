// SPDX-License-Identifier: Apache-2.0
#include "orchestrator/transport/pieces.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "orchestrator/transport/transports.hpp"

namespace batchsweep::orchestrator {
namespace {

using protocol::Role;

std::string message_of(std::size_t size) {
  std::string bytes(size, ' ');
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>('a' + i % 23);
  return bytes;
}

TEST(Pieces, EveryLengthComesBackWhole) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, kPieceBytes - 2, kPieceBytes - 1, 3 * kPieceBytes}) {
    PieceAssembler assembler;
    std::optional<protocol::Incoming> whole;
    for (const std::string& piece : cut_into_pieces(Role::kAgent, message_of(size))) {
      EXPECT_FALSE(whole) << "nothing before the last piece";
      EXPECT_LE(piece.size(), kPieceBytes);
      whole = assembler.add(3, piece);
    }
    ASSERT_TRUE(whole);
    EXPECT_EQ(whole->from, 3);
    EXPECT_EQ(whole->to, Role::kAgent);
    EXPECT_EQ(whole->bytes, message_of(size));
  }
}

TEST(Pieces, OfTwoPeersMayInterleave) {
  PieceAssembler assembler;
  const auto a = cut_into_pieces(Role::kOrchestrator, std::string(kPieceBytes, 'a'));
  const auto b = cut_into_pieces(Role::kOrchestrator, std::string(kPieceBytes, 'b'));
  ASSERT_EQ(a.size(), 2U);
  EXPECT_FALSE(assembler.add(1, a[0]));
  EXPECT_FALSE(assembler.add(2, b[0]));
  EXPECT_EQ(assembler.add(2, b[1])->bytes, std::string(kPieceBytes, 'b'));
  EXPECT_EQ(assembler.add(1, a[1])->bytes, std::string(kPieceBytes, 'a'));
}

TEST(Pieces, WhatIsNoPieceIsRefused) {
  PieceAssembler assembler;
  EXPECT_THROW((void)assembler.add(1, ""), ProtocolError);
  EXPECT_THROW((void)assembler.add(1, "hello"), ProtocolError);
}

TEST(Loopback, KeepsOrderAndRole) {
  const auto transport = make_loopback_transport();
  transport->send(0, Role::kAgent, "one");
  transport->send(0, Role::kOrchestrator, "two");
  const auto first = transport->receive();
  const auto second = transport->receive();
  EXPECT_EQ(first->bytes, "one");
  EXPECT_EQ(first->to, Role::kAgent);
  EXPECT_EQ(second->bytes, "two");
  EXPECT_FALSE(transport->receive());
}

}  // namespace
}  // namespace batchsweep::orchestrator
