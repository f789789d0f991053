// SPDX-License-Identifier: Apache-2.0
#include "base/table.hpp"

#include <gtest/gtest.h>

namespace batchsweep {
namespace {

const Table kCards{
    {"gpu", "memory", "note"},
    {{"cpu", "9 GiB", ""}, {"RTX 2080 Ti", "11 GiB", "a, \"b\" | c"}, {"größer", ""}}};

TEST(Table, TextAlignsColumnsNumbersRightAndEndsNoLineWithSpaces) {
  EXPECT_EQ(render(kCards, TableFormat::kText),
            "gpu          memory  note\n"
            "cpu           9 GiB\n"
            "RTX 2080 Ti  11 GiB  a, \"b\" | c\n"
            "größer\n");
}

TEST(Table, MarkdownMarksRightAlignedColumnsAndEscapesBars) {
  EXPECT_EQ(render(kCards, TableFormat::kMarkdown),
            "| gpu         | memory | note        |\n"
            "|-------------|-------:|-------------|\n"
            "| cpu         |  9 GiB |             |\n"
            "| RTX 2080 Ti | 11 GiB | a, \"b\" \\| c |\n"
            "| größer      |        |             |\n");
}

TEST(Table, CsvQuotesWhatNeedsItAndFillsShortRows) {
  EXPECT_EQ(render(kCards, TableFormat::kCsv),
            "gpu,memory,note\n"
            "cpu,9 GiB,\n"
            "RTX 2080 Ti,11 GiB,\"a, \"\"b\"\" | c\"\n"
            "größer,,\n");
}

TEST(Table, ATableWithoutRowsIsItsHeader) {
  EXPECT_EQ(render(Table{{"a", "b"}, {}}, TableFormat::kText), "a  b\n");
  EXPECT_EQ(render(Table{{"a", "b"}, {}}, TableFormat::kCsv), "a,b\n");
}

}  // namespace
}  // namespace batchsweep
