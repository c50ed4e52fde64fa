#include "dataset/scan.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <set>

#include "dataset/catalog_check.h"
#include "dataset/catalog_file.h"
#include "dataset/catalog_summary.h"
#include "dataset/tar.h"
#include "support/temp_dir.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

CatalogParts scanned(const TempDir& dir, ScanReport& report, const ScanSettings& settings = {}) {
  auto parts = scan(dir.path(), settings, report);
  EXPECT_TRUE(parts) << parts.error().message();
  // Everything that scan makes must satisfy the format's rules.
  EXPECT_TRUE(!parts || validate_catalog(parts->view()))
      << validate_catalog(parts->view()).error().message();
  return parts ? *std::move(parts) : CatalogParts{};
}

std::vector<std::string> paths(const CatalogParts& parts) {
  std::vector<std::string> out;
  for (std::uint32_t f = 0; f < parts.files.size(); ++f) {
    out.emplace_back(parts.view().path(f));
  }
  return out;
}

TEST(Scan, SortsPathsBytewiseAndLabelsByFirstFolder) {
  const TempDir dir;
  for (const char* p : {"b/1", "a/x/2", "a/x.y", "a!b/3", "a.z", "a/x!", "abcdefgh/1",
                        "abcdefgh2/1", "abcdefgh!/1", "0root"}) {
    dir.write(p, "data");
  }
  ScanReport report;
  const CatalogParts parts = scanned(dir, report);
  const std::vector<std::string> got = paths(parts);
  EXPECT_EQ(got.size(), 10U);
  EXPECT_TRUE(std::ranges::is_sorted(got));
  const Catalog c = parts.view();
  for (std::uint32_t s = 0; s < c.samples(); ++s) {
    const std::string_view path = c.path(c.sample(s).file);
    const std::size_t slash = path.find('/');
    EXPECT_EQ(c.label(c.sample(s).label), slash == path.npos ? "" : path.substr(0, slash)) << path;
  }
}

// Bytes beyond ASCII come after it, at whichever place of a name.
TEST(Scan, SortsBytesThatAreNoAscii) {
  const TempDir dir;
  for (const char* p : {"z", "\xc3\xa9", "a\xc3\xa9", "az", "abcdefg\xc3\xa9", "abcdefgz",
                        "\xe4\xb8\xad/1", "y/1", "abcdefgh\xc3\xa9", "abcdefghz"}) {
    dir.write(p, "data");
  }
  ScanReport report;
  const std::vector<std::string> got = paths(scanned(dir, report));
  EXPECT_EQ(got.size(), 10U);
  EXPECT_TRUE(std::ranges::is_sorted(got));
}

TEST(Scan, DirectoryRankIsAPermutation) {
  const TempDir dir;
  for (int i = 0; i < 50; ++i) {
    dir.write("c" + std::to_string(i % 3) + "/" + std::to_string(i), "x");
  }
  ScanReport report;
  const CatalogParts parts = scanned(dir, report);
  std::set<std::uint32_t> ranks;
  for (const FileRecord& f : parts.files) {
    ranks.insert(f.directory_rank);
  }
  EXPECT_EQ(ranks.size(), 50U);
}

TEST(Scan, CountsAndNamesWhatIsOdd) {
  const TempDir dir;
  dir.write("c/real", "data");
  dir.write("c/empty", "");
  ::mkfifo(dir.path("c/fifo").c_str(), 0600);
  fs::create_symlink("nowhere", dir.path("c/dangling"));
  fs::create_symlink("self", dir.path("c/self"));
  fs::create_directory_symlink("..", dir.path("c/up"));
  fs::create_directory_symlink("c", dir.path("alias"));
  fs::create_symlink("real", dir.path("c/link"));
  fs::create_hard_link(dir.path("c/real"), dir.path("c/second"));
  ScanReport report;
  const CatalogParts parts = scanned(dir, report);
  EXPECT_EQ(paths(parts), (std::vector<std::string>{"c/empty", "c/link", "c/real", "c/second"}));
  EXPECT_EQ(report.of(Oddity::empty_file).named, std::vector<std::string>{"c/empty"});
  EXPECT_EQ(report.of(Oddity::not_regular).named, std::vector<std::string>{"c/fifo"});
  EXPECT_EQ(report.of(Oddity::dangling_symlink).named, std::vector<std::string>{"c/dangling"});
  EXPECT_EQ(report.of(Oddity::directory_again).named, std::vector<std::string>{"alias"});
  EXPECT_EQ(report.of(Oddity::symlink_loop).count, 2U);
  EXPECT_EQ(parts.files[1].inode, parts.files[2].inode);
  EXPECT_EQ(parts.files[2].inode, parts.files[3].inode);
}

TEST(Scan, NamesOnlyTheFirstTenOfAKind) {
  const TempDir dir;
  for (int i = 0; i < 15; ++i) {
    dir.write("e" + std::to_string(i), "");
  }
  ScanReport report;
  scanned(dir, report);
  EXPECT_EQ(report.of(Oddity::empty_file).count, 15U);
  EXPECT_EQ(report.of(Oddity::empty_file).named.size(), 10U);
}

TEST(Scan, FilesThatVanishAreLeftOutAndNamed) {
  const TempDir dir;
  dir.write("a/1", "x");
  dir.write("a/2", "y");
  dir.write("a/3", "z");
  ScanSettings settings;
  settings.after_walk = [&] {
    fs::remove(dir.path("a/2"));
    fs::remove(dir.path("a/3"));
    ::mkfifo(dir.path("a/3").c_str(), 0600);  // must not block the scan
  };
  ScanReport report;
  const CatalogParts parts = scanned(dir, report, settings);
  EXPECT_EQ(paths(parts), std::vector<std::string>{"a/1"});
  EXPECT_EQ(report.of(Oddity::vanished).named, std::vector<std::string>{"a/2"});
  EXPECT_EQ(report.of(Oddity::not_regular).named, std::vector<std::string>{"a/3"});
}

TEST(Scan, NoSamplesIsAnErrorThatNamesTheFolder) {
  const TempDir dir;
  ScanReport report;
  const auto parts = scan(dir.path(), {}, report);
  ASSERT_FALSE(parts);
  EXPECT_NE(parts.error().message().find(dir.path() + ": no samples"), std::string::npos);
  EXPECT_FALSE(scan("/nonexistent", {}, report));
  dir.write("f", "x");
  EXPECT_FALSE(scan(dir.path("f"), {}, report));  // a file is not a directory
}

// As `tar -c .` and `tar -P` write them.
TEST(Scan, MembersNamedFromTheFolderItselfOrTheRootHaveTheLabelsOfTheirFolders) {
  const TempDir dir;
  std::string data = "hello";
  data.resize(kTarBlock);
  std::string archive;
  for (const char* member : {"./x/1", "/y/2", ".//./x/3", "z/4"}) {
    archive += tar_header(member, 5) + data;
  }
  dir.write("s/all.tar", archive);
  ScanReport report;
  const CatalogParts parts = scanned(dir, report);
  const Catalog c = parts.view();
  ASSERT_EQ(c.samples(), 4U);
  for (std::uint32_t s = 0; s < 4; ++s) {
    EXPECT_EQ(c.label(c.sample(s).label), std::string(1, "xyxz"[s])) << s;
  }
}

TEST(Scan, RecordsCoverTheFileAndAShortTailIsCounted) {
  const TempDir dir;
  dir.write("whole.bin", std::string(3000, 'a'));
  dir.write("odd.bin", std::string(2500, 'b'));
  ScanSettings settings;
  settings.records = {1000};
  ScanReport report;
  const CatalogParts parts = scanned(dir, report, settings);
  EXPECT_EQ(parts.parts.size(), 6U);
  EXPECT_TRUE(parts.whole.empty());
  EXPECT_EQ(parts.view().bytes().n, 5500U);
  EXPECT_EQ(report.of(Oddity::odd_tail).named,
            std::vector<std::string>{"odd.bin: last record has 500 bytes"});
}

TEST(Scan, TarMembersBecomeSamplesAndADamagedTarIsLeftOut) {
  const TempDir dir;
  std::string data = "hello";
  data.resize(kTarBlock);
  dir.write("s/good.tar", tar_header("x/1", 5) + data + tar_header("2", 5) + data);
  dir.write("s/bad.tar", "this is no tar" + std::string(1000, ' '));
  dir.write("s/plain.bin", "whole");
  ScanReport report;
  const CatalogParts parts = scanned(dir, report);
  const Catalog c = parts.view();
  ASSERT_EQ(c.samples(), 3U);
  EXPECT_EQ(c.label(c.sample(1).label), "x");
  EXPECT_EQ(c.label(c.sample(2).label), "s");
  EXPECT_EQ(report.of(Oddity::damaged_tar).count, 1U);
  EXPECT_EQ(report.missing(), 1U);
  for (std::uint32_t s = 1; s < 3; ++s) {
    const Sample m = c.sample(s);
    EXPECT_EQ(read_file(c.full_path(m.file)).substr(m.offset, m.length), "hello");
  }
  ScanReport second;
  ScanSettings never;
  never.tar = TarMode::never;
  EXPECT_EQ(scanned(dir, second, never).whole.size(), 3U);
}

TEST(Scan, MissingAreFilesThatShouldBeSamplesAndNothingElse) {
  for (std::size_t i = 0; i < kOddities; ++i) {
    const auto kind = static_cast<Oddity>(i);
    ScanReport report;
    report.add(kind, "it");
    const std::string why(explain(kind));
    const bool says = to_string(kind) == "unreadable" || to_string(kind) == "vanished" ||
                      to_string(kind) == "too_large" || to_string(kind) == "damaged_tar";
    EXPECT_EQ(report.missing(), says ? 1U : 0U) << why;
    EXPECT_TRUE(!says || why.find("left out") != std::string::npos) << why;
  }
}

TEST(CheckCatalog, SaysExactlyWhichFilesChangedAndHow) {
  const TempDir dir;
  for (const char* p : {"c/0", "c/1", "c/2", "c/3", "c/4"}) {
    dir.write(p, std::string(100, 'x'));
  }
  ScanReport report;
  const CatalogParts parts = scanned(dir, report);
  const Catalog c = parts.view();
  EXPECT_TRUE(check_catalog(c)->clean());
  fs::resize_file(dir.path("c/1"), 10);
  fs::remove(dir.path("c/2"));
  dir.write("new", std::string(100, 'y'));
  fs::rename(dir.path("new"), dir.path("c/3"));
  fs::permissions(dir.path("c/4"), fs::perms::owner_read);
  const auto check = check_catalog(c);
  ASSERT_TRUE(check);
  ASSERT_EQ(check->changed.size(), 4U);
  EXPECT_EQ(check->changed[0].text, "c/1: size 100 -> 10");
  EXPECT_EQ(check->changed[1].text, "c/2: missing");
  EXPECT_TRUE(check->changed[2].text.starts_with("c/3: replaced (inode "));
  EXPECT_EQ(check->changed[3].text, "c/4: changed since the scan (ctime differs)");
}

TEST(CheckCatalog, WhatALinkLeadsToCountsAndNothingOutsideDoes) {
  const TempDir dir, outside;
  dir.write("data/0", "abc");
  outside.write("1", "abc");
  fs::create_symlink("0", dir.path("data/link"));
  fs::create_symlink("0", dir.path("data/turned"));
  ScanReport report;
  const CatalogParts parts = scanned(dir, report);
  const Catalog c = parts.view();
  ASSERT_EQ(c.files.size(), 3U);
  EXPECT_TRUE(check_catalog(c)->clean());
  fs::remove(dir.path("data/turned"));
  fs::create_symlink(outside.path("1"), dir.path("data/turned"));
  const auto check = check_catalog(c);
  ASSERT_TRUE(check);
  ASSERT_EQ(check->changed.size(), 1U);
  EXPECT_EQ(check->changed[0].text,
            "data/turned: now behind a link or a mount that leads out of the data set");
}

TEST(Summary, SharesAreUnknownWhenNoAddressIs) {
  CatalogParts p;
  p.root = "/x";
  p.add_file({1, 10, 0, 0, 0, 0}, "a");
  p.add_file({2, 10, 0, 0, 0, 1}, "b");
  p.whole = {{0, kNoLabel}, {1, kNoLabel}};
  EXPECT_FALSE(summarize(p.view()).adjacent_lba.has_value());
}

// Whether or not they fill their last block.
TEST(Summary, CountsNeighboursThatTouch) {
  for (const std::uint64_t size : {1U, 4000U, 4096U}) {
    CatalogParts p;
    p.root = "/x";
    // On the device: b, a, then a gap, c.
    const std::uint64_t at[] = {8192, 4096, 40960};
    for (std::uint32_t f = 0; f < 3; ++f) {
      p.add_file({f, size, 0, 0, 0, f}, std::string(1, static_cast<char>('a' + f)));
      p.extents.push_back({0, at[f], 4096, 0, f});
      p.whole.push_back({f, kNoLabel});
    }
    const CatalogSummary s = summarize(p.view());
    EXPECT_DOUBLE_EQ(*s.adjacent_path, 0.0) << size;
    EXPECT_DOUBLE_EQ(*s.adjacent_lba, 0.5) << size;
    EXPECT_DOUBLE_EQ(s.extents_mean, 1.0) << size;
    for (ExtentRecord& e : p.extents) {
      e.flags |= kExtentEncoded;
    }
    EXPECT_FALSE(summarize(p.view()).adjacent_lba) << "compressed: where they end is not known";
  }
}

}  // namespace
}  // namespace blksweep
