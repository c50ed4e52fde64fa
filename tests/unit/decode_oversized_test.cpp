// A packed sample that was changed after it was packed: its header is held against the index.
#include <gtest/gtest.h>

#include "codec/codec.h"
#include "dataset/pack.h"
#include "loader/decoded_sizes.h"
#include "loader/epoch.h"
#include "support/temp_dir.h"

namespace blksweep {
namespace {

class OversizedTest : public ::testing::Test {
 protected:
  // Samples of 100, 200 ... bytes in path order; sample 2 then is 1000 bytes instead of 300.
  OversizedTest() {
    for (std::size_t i = 0; i < 6; ++i) {
      dir_.write("src/" + std::to_string(i), std::string(100 * (i + 1), 'x'));
    }
    PackSettings s;
    s.source = dir_.path("src");
    s.directory = dir_.path("packed");
    s.layout = PackLayout::files;
    const auto packed = pack_dataset(s, {}, stop_);
    EXPECT_TRUE(packed) << packed.error().message();
    std::vector<std::byte> stored;
    const std::string large(1000, 'y');
    const auto header = Encoder({}).encode(std::as_bytes(std::span(large)), stored);
    EXPECT_TRUE(header);
    dir_.write("packed/2.blks", {reinterpret_cast<const char*>(stored.data()),
                                 kSampleHeaderBytes + header->payload_bytes});
  }

  const std::atomic<bool> stop_{false};
  TempDir dir_;
};

TEST_F(OversizedTest, ItsHeaderIsRefusedAndNoOtherIs) {
  const auto source = open_source({dir_.path("packed"), ""});
  ASSERT_TRUE(source) << source.error().message();
  LoaderSettings cell;
  cell.order = Order::path;
  cell.batch = 4;
  const auto planned = plan_epoch(*source, cell, 1);
  ASSERT_TRUE(planned) << planned.error().message();
  const auto room = decoded_by_emission(source->catalog, planned->plan, planned->schedule);
  ASSERT_TRUE(room) << room.error().message();
  ASSERT_EQ(*room, (std::vector<std::uint64_t>{100, 200, 300, 400, 500, 600}));
  for (std::size_t i = 0; i < room->size(); ++i) {
    const std::string stored = read_file(dir_.path("packed/") + std::to_string(i) + ".blks");
    const auto bytes = std::as_bytes(std::span(stored));
    const auto header = read_header(bytes, bytes.size(), (*room)[i]);
    EXPECT_EQ(header.has_value(), i != 2);
    if (!header) {
      EXPECT_NE(header.error().message().find("1000 bytes"), std::string::npos);
      EXPECT_NE(header.error().message().find("index"), std::string::npos);
    }
  }
  EXPECT_EQ(largest_decoded_batch(*room, planned->schedule).n, 1100);
}

}  // namespace
}  // namespace blksweep
