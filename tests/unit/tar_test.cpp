#include "dataset/tar.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace blksweep {
namespace {

Result<std::vector<TarMember>> parse(const std::string& archive, TarLeftOut* left_out = nullptr) {
  const auto read = [&](std::uint64_t offset, std::span<std::byte> out) {
    const std::size_t n =
        offset >= archive.size() ? 0 : std::min<std::size_t>(out.size(), archive.size() - offset);
    std::memcpy(out.data(), archive.data() + offset, n);
    return Result<std::size_t>(n);
  };
  return read_tar(archive.size(), read, left_out);
}

std::string padded(std::string data) {
  data.resize((data.size() + kTarBlock - 1) / kTarBlock * kTarBlock);
  return data;
}

std::string member(const std::string& path, const std::string& data) {
  return tar_header(path, data.size()) + padded(data);
}

// A header with another type or prefix, and the checksum made right again.
std::string altered(std::string header, std::size_t at, const std::string& bytes) {
  header.replace(at, bytes.size(), bytes);
  header.replace(148, 8, 8, ' ');
  unsigned sum = 0;
  for (const char c : header.substr(0, kTarBlock)) {
    sum += static_cast<unsigned char>(c);
  }
  char text[8];
  std::snprintf(text, sizeof text, "%06o", sum);
  header.replace(148, 7, std::string(text) + '\0');
  return header;
}

const std::string kTarEnd(2 * kTarBlock, '\0');

TEST(ReadTar, FindsTheBytesOfEachRegularMember) {
  const std::string archive = member("a/1.bin", "hello") + member("b/2.bin", "") +
                              member("a/3.bin", std::string(600, 'x')) + kTarEnd;
  const auto members = parse(archive);
  ASSERT_TRUE(members) << members.error().message();
  ASSERT_EQ(members->size(), 3U);
  EXPECT_EQ((*members)[0].path, "a/1.bin");
  EXPECT_EQ(archive.substr((*members)[0].offset, (*members)[0].size), "hello");
  EXPECT_EQ((*members)[1].size, 0U);
  EXPECT_EQ(archive.substr((*members)[2].offset, (*members)[2].size), std::string(600, 'x'));
}

TEST(ReadTar, TakesGnuLongNamesAndPaxPathAndSize) {
  const std::string path = std::string(150, 'd') + "/f";
  const std::string longname =
      altered(tar_header("././@LongLink", path.size() + 1), 156, "L") + padded(path + '\0');
  const std::string record = "14 path=p/q/r\n10 size=3\n";
  const std::string pax = altered(tar_header("x", record.size()), 156, "x") + padded(record);
  const auto members = parse(longname + member("short", "1") + pax + tar_header("short", 0) +
                             padded("abc") + kTarEnd);
  ASSERT_TRUE(members) << members.error().message();
  ASSERT_EQ(members->size(), 2U);
  EXPECT_EQ((*members)[0].path, path);
  EXPECT_EQ((*members)[1].path, "p/q/r");
  EXPECT_EQ((*members)[1].size, 3U);
}

TEST(ReadTar, SkipsFoldersAndLinksAndJoinsTheUstarPrefix) {
  const auto members =
      parse(altered(tar_header("dir/", 0), 156, "5") + altered(tar_header("link", 7), 156, "2") +
            altered(tar_header("f", 1), 345, "pre/fix") + padded("z") + kTarEnd);
  ASSERT_TRUE(members) << members.error().message();
  ASSERT_EQ(members->size(), 1U);
  EXPECT_EQ((*members)[0].path, "pre/fix/f");
}

TEST(ReadTar, NamesTheOffsetOfDamage) {
  const std::string good = member("a", "hello") + member("b", "there") + kTarEnd;
  std::string flipped = good;
  flipped[1024 + 3] = 'X';
  EXPECT_EQ(parse(flipped).error().message(), "tar header at byte 1024: wrong checksum");
  EXPECT_NE(parse(good.substr(0, 1500)).error().message().find("1024"), std::string::npos);
  EXPECT_NE(parse(tar_header("a", 600) + "short").error().message().find("byte 0"),
            std::string::npos);
  EXPECT_FALSE(parse("not a tar file at all" + std::string(1000, 'x')));
  EXPECT_FALSE(parse(altered(tar_header("s", 0), 156, "S") + kTarEnd));
}

TEST(ReadTar, TellsTheLinksThatItLeavesOutAndNoFolder) {
  TarLeftOut left_out;
  const std::string archive = altered(tar_header("d/", 0), 156, "5") + member("d/a", "hello") +
                              altered(tar_header("d/hard", 0), 156, "1") +
                              altered(tar_header("d/soft", 0), 156, "2") + kTarEnd;
  ASSERT_EQ(parse(archive, &left_out)->size(), 1U);
  EXPECT_EQ(left_out.links, (std::vector<std::string>{"d/hard", "d/soft"}));
  EXPECT_FALSE(left_out.goes_on);
}

TEST(ReadTar, TellsThatAnotherArchiveFollowsAndThatPaddingIsNone) {
  for (const std::size_t blocks : {1U, 2U, 7U, 19U, 20U}) {
    TarLeftOut left_out;
    const std::string one = member("a", "hello") + std::string(blocks * kTarBlock, '\0');
    ASSERT_EQ(parse(one, &left_out)->size(), 1U);
    EXPECT_FALSE(left_out.goes_on) << blocks;
    ASSERT_EQ(parse(one + member("b", "x") + kTarEnd, &left_out)->size(), 1U);
    EXPECT_TRUE(left_out.goes_on) << blocks;
  }
}

TEST(ReadTar, AcceptsAnArchiveWithoutItsZeroBlocks) {
  EXPECT_EQ(parse(member("a", "hello"))->size(), 1U);
  EXPECT_TRUE(parse("")->empty());
}

TEST(ReadTar, ALastMemberMayEndWithTheArchiveAndNotBehindIt) {
  for (const std::size_t size : {1U, 511U, 512U, 513U, 1024U}) {
    const std::string archive = tar_header("a", size) + std::string(size, 'x');
    ASSERT_TRUE(parse(archive)) << size;
    EXPECT_EQ(parse(archive)->front().size, size);
    EXPECT_FALSE(parse(archive.substr(0, archive.size() - 1))) << size;
  }
}

TEST(ReadTar, AnExtendedHeaderOfAMebibyteIsTakenAndALongerOneIsDamage) {
  for (const std::size_t bytes : {std::size_t{1} << 20, (std::size_t{1} << 20) + 1}) {
    const std::string path(bytes - 1, 'p');
    const auto members = parse(altered(tar_header("././@LongLink", bytes), 156, "L") +
                               padded(path + '\0') + member("short", "1") + kTarEnd);
    ASSERT_EQ(members.has_value(), bytes == std::size_t{1} << 20);
    if (members) {
      EXPECT_EQ((*members)[0].path, path);
    } else {
      EXPECT_NE(members.error().message().find("more than 1 MiB"), std::string::npos);
    }
  }
}

TEST(ReadTar, RefusesSizesThatOverflow) {
  const std::string huge = std::string(1, '\x80') + std::string(3, '\0') + std::string(8, '\xff');
  EXPECT_FALSE(parse(altered(tar_header("a", 0), 124, huge) + kTarEnd));
  EXPECT_FALSE(parse(altered(tar_header("a", 0), 124, std::string(12, '\xff')) + kTarEnd));
}

}  // namespace
}  // namespace blksweep
