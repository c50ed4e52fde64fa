#include "base/units.h"

#include <gtest/gtest.h>

namespace blksweep {
namespace {

TEST(ParseBytes, AcceptsBinaryAndDecimalPrefixes) {
  EXPECT_EQ(parse_bytes("4KiB")->n, 4096U);
  EXPECT_EQ(parse_bytes("1.5MiB")->n, 1572864U);
  EXPECT_EQ(parse_bytes("100MB")->n, 100000000U);
  EXPECT_EQ(parse_bytes("0")->n, 0U);
}

TEST(ParseBytes, RefusesWhatIsNotWholeAndQuotesIt) {
  for (const char* text :
       {"", "10", "10x", "-1KiB", "1KiB ", "KiB", "nanKiB", "1e99TiB", "99999999999TiB"}) {
    const auto r = parse_bytes(text);
    ASSERT_FALSE(r) << text;
    EXPECT_EQ(r.error().exit_code, Exit::usage);
    EXPECT_NE(r.error().message().find(std::string("'") + text + "'"), std::string::npos);
  }
}

TEST(ParseRate, QuotesTheWholeTextWhenRefusing) {
  EXPECT_EQ(parse_rate("1000MB/s")->n, 1000000000U);
  for (const char* text : {"1000MB", "/s", "10x/s"}) {
    const auto r = parse_rate(text);
    ASSERT_FALSE(r) << text;
    EXPECT_NE(r.error().message().find(std::string("'") + text + "'"), std::string::npos);
  }
}

TEST(ParseDuration, KeepsIntegerNanoseconds) {
  EXPECT_EQ(parse_duration("250us")->count(), 250000);
  EXPECT_EQ(parse_duration("1.5s")->count(), 1500000000);
}

TEST(FormatBytes, UsesThreeDigits) {
  EXPECT_EQ(format_bytes({112640}), "110 KiB");
  EXPECT_EQ(format_bytes({1536}), "1.5 KiB");
  EXPECT_EQ(format_bytes({511}), "511 B");
}

TEST(FormatCount, GroupsThousands) {
  EXPECT_EQ(format_count(1), "1");
  EXPECT_EQ(format_count(1280000), "1,280,000");
}

}  // namespace
}  // namespace blksweep
