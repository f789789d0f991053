// SPDX-License-Identifier: Apache-2.0
// Small questions about text: is it UTF-8, which known name is nearest, does a pattern match.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace batchsweep {

// Byte offset of the first byte that is not UTF-8; nullopt when all is well.
[[nodiscard]] std::optional<std::size_t> first_invalid_utf8(std::string_view text);
// At most `most` known names, nearest first, that a person could have meant: small edit distance (letters of either case are
// one), or one contains the other.
[[nodiscard]] std::vector<std::string> nearest_names(std::string_view wanted, const std::vector<std::string>& known,
                                                     std::size_t most = 3);
// '*' stands for any run of characters, '?' for one. Case counts.
[[nodiscard]] bool matches_pattern(std::string_view text, std::string_view pattern);

// As a shell takes it for one word: quoted where that is needed.
[[nodiscard]] std::string shell_word(const std::string& text);
// For a terminal: control characters but line end and tab become \x1b and the like, so that what a trial wrote cannot move the cursor.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace batchsweep
