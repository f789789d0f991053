// SPDX-License-Identifier: Apache-2.0
#include "base/text.hpp"

#include <gtest/gtest.h>

namespace batchsweep {
namespace {

TEST(ShellWord, IsQuotedOnlyWhereAShellWouldSplitOrChangeIt) {
  EXPECT_EQ(shell_word("runs/cards-2.h5"), "runs/cards-2.h5");
  EXPECT_EQ(shell_word("a b/x y.h5"), "'a b/x y.h5'");
  EXPECT_EQ(shell_word("$HOME/`x`.h5"), "'$HOME/`x`.h5'");
  EXPECT_EQ(shell_word("it's.h5"), "'it'\"'\"'s.h5'");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("-r.h5"), "'-r.h5'");
}

TEST(Printable, WhatMovesTheCursorOrChangesTheTerminalIsShownNotObeyed) {
  EXPECT_EQ(printable("\x1b[31mred\x1b[0m"), "\\x1b[31mred\\x1b[0m");
  EXPECT_EQ(printable("10 %\r20 %\n"), "10 %\\x0d20 %\n");
  EXPECT_EQ(printable("bell \a, delete \x7f, C1 \xC2\x9b"), "bell \\x07, delete \\x7f, C1 \\x9b");
}

TEST(Printable, OtherTextStaysAsItIs) {
  EXPECT_EQ(printable("tab\tline\nümlaut € 日本"), "tab\tline\nümlaut € 日本");
  EXPECT_EQ(printable("dos\r\n"), "dos\n");
}

}  // namespace
}  // namespace batchsweep
