#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "dataset/catalog_check.h"
#include "dataset/catalog_file.h"
#include "loader/address_proof.h"
#include "support/temp_dir.h"

namespace blksweep {
namespace {

// Two files in one class and a packed one with two parts.
CatalogParts tiny() {
  CatalogParts p;
  p.root = "/data";
  p.device_node = "/dev/sda1";
  p.device = 0x801;
  p.partition_start = 1 << 20;
  p.device_readable = true;
  const std::uint32_t a = p.add_label("a");
  p.add_file({11, 5000, 1, 2, 0, 7}, "a/1");
  p.extents.push_back({0, 8192, 4096, 0, 0});
  p.extents.push_back({4096, 65536, 4096, kExtentShared, 0});
  p.add_file({12, 0, 3, 4, 0, 8}, "a/2");
  p.add_file({13, 100, 5, 6, 0, 9}, "pack.tar");
  p.extents.push_back({0, 0, 100, kExtentNoAddress, 2});
  p.whole = {{0, a}, {1, a}};
  p.parts = {{10, 20, 2, a}, {50, 50, 2, kNoLabel}};
  return p;
}

// Aligned as a mapping is.
struct Image {
  explicit Image(const std::string& bytes) : size(bytes.size()), words(bytes.size() / 8 + 1) {
    std::memcpy(words.data(), bytes.data(), bytes.size());
  }
  Result<DecodedCatalog> decode() const {
    return decode_catalog(std::as_bytes(std::span(words)).first(size), "data.cat");
  }
  std::byte& at(std::size_t i) { return std::as_writable_bytes(std::span(words))[i]; }
  std::size_t size;
  std::vector<std::uint64_t> words;
};

std::string error_of(const Image& image) {
  const auto decoded = image.decode();
  return decoded ? "" : decoded.error().message();
}

TEST(CatalogLayout, IsOfPlacesAndNotOfWhoSharesThem) {
  CatalogParts parts = tiny();
  const std::string layout = layout_hash(parts.view());
  for (ExtentRecord& e : parts.extents) {
    e.flags ^= kExtentShared;  // copied by reflink, or the copy is gone
  }
  EXPECT_EQ(layout_hash(parts.view()), layout);
  parts.extents[1].device_offset += 4096;
  EXPECT_NE(layout_hash(parts.view()), layout);
  parts = tiny();
  parts.extents[0].flags |= kExtentInline;
  EXPECT_NE(layout_hash(parts.view()), layout);
}

TEST(CatalogFormat, RoundTripKeepsEverything) {
  const TempDir dir;
  const CatalogParts parts = tiny();
  ASSERT_TRUE(write_catalog(dir.path("t.cat"), parts));
  const auto file = CatalogFile::open(dir.path("t.cat"));
  ASSERT_TRUE(file) << file.error().message();
  const Catalog& c = file->view();
  EXPECT_EQ(file->device_node(), "/dev/sda1");
  EXPECT_EQ(c.root, "/data");
  EXPECT_EQ(c.device, 0x801U);
  EXPECT_EQ(c.partition_start, 1U << 20);
  EXPECT_EQ(c.block_bytes, kPageBytes);
  EXPECT_TRUE(c.device_readable);
  ASSERT_EQ(c.files.size(), 3U);
  ASSERT_EQ(c.samples(), 4U);
  EXPECT_EQ(c.path(2), "pack.tar");
  EXPECT_EQ(c.files[0].size, 5000U);
  EXPECT_EQ(c.files[1].directory_rank, 8U);
  EXPECT_EQ(c.extents_of(0).size(), 2U);
  EXPECT_EQ(c.extents_of(1).size(), 0U);
  EXPECT_EQ(c.extents_of(0)[1].device_offset, 65536U);
  EXPECT_EQ(c.label(c.sample(0).label), "a");
  EXPECT_EQ(c.label(c.sample(3).label), "");
  EXPECT_EQ(c.sample(2).offset, 10U);
  EXPECT_EQ(c.bytes().n, 5070U);
}

TEST(CatalogFormat, NoByteCanChangeUnnoticed) {
  const auto bytes = encode_catalog(tiny());
  ASSERT_TRUE(bytes);
  ASSERT_EQ(error_of(Image(*bytes)), "");
  Image image(*bytes);
  for (std::size_t i = 0; i < bytes->size(); ++i) {
    for (const auto flip : {std::byte{1}, std::byte{0x80}}) {
      image.at(i) ^= flip;
      EXPECT_NE(error_of(image), "") << "byte " << i;
      image.at(i) ^= flip;
    }
  }
}

TEST(CatalogFormat, NoTruncationGoesUnnoticed) {
  const auto bytes = encode_catalog(tiny());
  for (std::size_t n = 0; n < bytes->size(); ++n) {
    EXPECT_NE(error_of(Image(bytes->substr(0, n))), "") << n << " bytes";
  }
  EXPECT_NE(error_of(Image(*bytes + '\0')), "");
}

// Exact bytes: a change here is a new kCatalogVersion and a new page in docs/catalog-format.md.
TEST(CatalogFormat, BytesArePinned) {
  const std::string bytes = *encode_catalog(tiny());
  EXPECT_EQ(bytes.size(), 641U);
  EXPECT_EQ(bytes.substr(0, 8), "BLKSWCAT");
  const auto u32 = [&](std::size_t at) {
    std::uint32_t n = 0;
    std::memcpy(&n, bytes.data() + at, sizeof n);
    return n;
  };
  const auto u64 = [&](std::size_t at) {
    std::uint64_t n = 0;
    std::memcpy(&n, bytes.data() + at, sizeof n);
    return n;
  };
  EXPECT_EQ(u32(8), 1U);                        // version
  EXPECT_EQ(u32(12), 296U);                     // header bytes
  EXPECT_EQ(u64(16), 641U);                     // file bytes
  EXPECT_EQ(u64(24), 0x801U);                   // device
  EXPECT_EQ(u64(32), 1U << 20);                 // partition start
  EXPECT_EQ(u32(40), 4096U);                    // block bytes
  EXPECT_EQ(u32(44), 1U);                       // flags
  EXPECT_EQ(u64(48), 296U);                     // section files: offset
  EXPECT_EQ(u64(56), 120U);                     //                bytes
  EXPECT_EQ(u64(296), 11U);                     // first file's inode
  EXPECT_EQ(u64(416 + 8), 8192U);               // first extent's device offset
  EXPECT_EQ(u64(288), 8848042106632581825ULL);  // header checksum: covers all section checksums
}

TEST(CatalogFormat, ErrorsSayWhatIsWrongAndTheWayOut) {
  const std::string bytes = *encode_catalog(tiny());
  Image extent(bytes);
  extent.at(416) ^= std::byte{1};
  EXPECT_TRUE(error_of(extent).starts_with("data.cat: section extents is damaged (checksum "));
  EXPECT_TRUE(error_of(extent).ends_with("scan again with blksweep catalog DIR -o data.cat"));
  EXPECT_EQ(error_of(Image("hello")),
            "data.cat: not a catalog: make one with blksweep catalog DIR -o FILE");
  EXPECT_NE(error_of(Image(bytes.substr(0, 100))).find("truncated to 100 bytes"),
            std::string::npos);
  EXPECT_NE(error_of(Image(bytes.substr(0, 400))).find("400 bytes long instead of 641"),
            std::string::npos);
}

TEST(CatalogFormat, TakesThePlaceOfACatalogAndNothingElse) {
  const TempDir dir;
  EXPECT_TRUE(check_catalog_place(dir.path("data.cat")));
  ASSERT_TRUE(write_catalog(dir.path("data.cat"), tiny()));
  EXPECT_TRUE(check_catalog_place(dir.path("data.cat")));
  std::ofstream(dir.path("empty"));  // as mktemp leaves it
  EXPECT_TRUE(check_catalog_place(dir.path("empty")));
  std::ofstream(dir.path("sample")) << "bytes";
  const Result<> refused = check_catalog_place(dir.path("sample"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(), dir.path("sample") + " is no catalog: name a new file");
}

TEST(CatalogFormat, AnotherVersionIsNamedWithBothNumbers) {
  std::string bytes = *encode_catalog(tiny());
  bytes[8] = 2;
  bytes[12] = static_cast<char>(0x30);  // a later version may have a longer header
  EXPECT_NE(error_of(Image(bytes)).find("catalog version 2, this program reads version 1"),
            std::string::npos);
}

TEST(CatalogFormat, MissingFileIsNamed) {
  EXPECT_EQ(CatalogFile::open("/nonexistent/x.cat").error().message(),
            "open /nonexistent/x.cat: No such file or directory");
}

using Break = void (*)(CatalogParts&);
struct Rule {
  const char* name;
  Break apply;
};
class CatalogRules : public testing::TestWithParam<Rule> {};

TEST_P(CatalogRules, AreEnforcedWhenWriting) {
  CatalogParts parts = tiny();
  ASSERT_TRUE(encode_catalog(parts));
  GetParam().apply(parts);
  EXPECT_FALSE(encode_catalog(parts));
}

INSTANTIATE_TEST_SUITE_P(
    Broken, CatalogRules,
    testing::Values(
        Rule{"sample_of_no_file", [](CatalogParts& p) { p.whole[0].file = 3; }},
        Rule{"label_missing", [](CatalogParts& p) { p.whole[0].label = 1; }},
        Rule{"part_past_end", [](CatalogParts& p) { p.parts[1].length = 51; }},
        Rule{"part_wraps", [](CatalogParts& p) { p.parts[1].offset = ~std::uint64_t{0}; }},
        Rule{"extent_of_other_file", [](CatalogParts& p) { p.extents[0].file = 1; }},
        Rule{"extents_overlap", [](CatalogParts& p) { p.extents[1].file_offset = 4095; }},
        Rule{"extent_behind_end", [](CatalogParts& p) { p.extents[1].file_offset = 5000; }},
        Rule{"extent_wraps", [](CatalogParts& p) { p.extents[1].length = ~std::uint64_t{0}; }},
        Rule{"unknown_flag", [](CatalogParts& p) { p.extents[0].flags = 64; }},
        Rule{"extents_not_in_order", [](CatalogParts& p) { p.files[1].first_extent = 3; }},
        Rule{"first_extent_skipped", [](CatalogParts& p) { p.files[0].first_extent = 1; }},
        Rule{"paths_unsorted", [](CatalogParts& p) { p.path_bytes[2] = '3'; }},
        Rule{"path_absolute", [](CatalogParts& p) { p.path_bytes[0] = '/'; }},
        Rule{"path_climbs", [](CatalogParts& p) { p.path_bytes.replace(0, 3, "../"); }},
        Rule{"too_few_paths", [](CatalogParts& p) { p.path_end.pop_back(); }},
        Rule{"block_not_a_power", [](CatalogParts& p) { p.block_bytes = 3000; }},
        Rule{"root_relative", [](CatalogParts& p) { p.root = "data"; }}),
    [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace blksweep
