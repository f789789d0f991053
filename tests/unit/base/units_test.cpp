// SPDX-License-Identifier: Apache-2.0
#include "base/units.hpp"

#include <gtest/gtest.h>

#include "base/hash.hpp"
#include "base/text.hpp"

namespace batchsweep {
namespace {

TEST(Units, BytesNeedAUnitThatIsWrittenRight) {
  EXPECT_EQ(parse_bytes("11 GiB"), 11811160064U);
  EXPECT_EQ(parse_bytes("512MiB"), 536870912U);
  EXPECT_EQ(parse_bytes("80 GB"), 80000000000U);
  EXPECT_EQ(parse_bytes("1.5 KiB"), 1536U);
  for (const char* wrong : {"80", "80G", "80 gb", "-1 GiB", "GiB", "", "1e3 GiB", "9999999 TiB"}) {
    EXPECT_EQ(parse_bytes(wrong), std::nullopt) << wrong;
  }
}

TEST(Units, SecondsNeedAUnit) {
  EXPECT_EQ(parse_seconds("10 min"), 600);
  EXPECT_EQ(parse_seconds("5 ms"), 0.005);
  EXPECT_EQ(parse_seconds("10"), std::nullopt);
}

TEST(Units, OneStyleWhenPrinted) {
  EXPECT_EQ(format_bytes(85520809984.0), "79.6 GiB");
  EXPECT_EQ(format_bytes(512), "512 B");
  EXPECT_EQ(format_seconds(75), "1 min 15 s");
  EXPECT_EQ(format_seconds(300), "5 min");
  EXPECT_EQ(format_seconds(7260), "2 h 1 min");
  EXPECT_EQ(format_seconds(7200), "2 h");
  EXPECT_EQ(format_seconds(0.0123), "12.3 ms");
}

TEST(Hash, AgreesWithThePublishedVectors) {
  EXPECT_EQ(hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_prefix("abc"), 0xba7816bf8f01cfeaU);
  EXPECT_EQ(crc32_of("123456789"), 0xcbf43926U);
}

TEST(Text, Utf8) {
  EXPECT_EQ(first_invalid_utf8("gr\xc3\xbc\xc3\x9f"), std::nullopt);
  EXPECT_EQ(first_invalid_utf8("ab\xff"), 2U);
  EXPECT_EQ(first_invalid_utf8("\xc0\xaf"), 0U);      // overlong
  EXPECT_EQ(first_invalid_utf8("\xed\xa0\x80"), 0U);  // surrogate
}

TEST(Text, NearestNames) {
  EXPECT_EQ(nearest_names("warmup_step", {"timed_steps", "warmup_steps"}), std::vector<std::string>{"warmup_steps"});
  EXPECT_TRUE(nearest_names("zzz", {"timed_steps"}).empty());
}

TEST(Text, Patterns) {
  EXPECT_TRUE(matches_pattern("bert-base", "bert*"));
  EXPECT_TRUE(matches_pattern("bert-base", "*ba?e"));
  EXPECT_FALSE(matches_pattern("resnet18", "bert*"));
}

}  // namespace
}  // namespace batchsweep
