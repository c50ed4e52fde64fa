// What was not named gives way to what works here; what was named never does.
#include "experiment/fallback.h"

#include <gtest/gtest.h>

#include <array>

#include "support/flat_catalog.h"

namespace blksweep {
namespace {

const Refusals kNothing{};
const Refusals kAll{"io_uring_queue_init: Operation not permitted", "no file has an address"};

CellSettings named() {
  CellSettings cell;
  cell.engine_named = true;
  cell.order_named = true;
  return cell;
}

TEST(Fallback, ChunksAndSortingWindowsGoByAddress) {
  CellSettings cell;
  cell.order = Order::random;
  EXPECT_FALSE(sorts_by_address(cell));
  cell.sort_window = {Bytes{1}, 0};
  EXPECT_TRUE(sorts_by_address(cell));
  cell.sort_window = {Bytes{0}, 1};  // percent
  EXPECT_TRUE(sorts_by_address(cell));
  cell.sort_window = {};
  cell.order = Order::chunked;
  EXPECT_TRUE(sorts_by_address(cell));
}

TEST(Fallback, KeepsDefaultsWhereNothingIsRefused) {
  const auto settled = settle({}, kNothing);
  ASSERT_TRUE(settled);
  EXPECT_EQ(settled->engine, EngineKind::io_uring);
  EXPECT_EQ(settled->order, Order::lba);
  EXPECT_TRUE(fallback_notes(*settled, kNothing).empty());
}

TEST(Fallback, PutsPsyncAndPathOrderInPlaceOfDefaultsAndSaysWhy) {
  const auto settled = settle({}, kAll);
  ASSERT_TRUE(settled);
  EXPECT_EQ(settled->engine, EngineKind::psync);
  EXPECT_EQ(settled->order, Order::path);
  const auto notes = fallback_notes(*settled, kAll);
  ASSERT_EQ(notes.size(), 2U);
  EXPECT_NE(notes[0].find(kAll.ring), std::string::npos);
  EXPECT_NE(notes[1].find(kAll.addresses), std::string::npos);
}

TEST(Fallback, RefusesAnEngineThatWasNamedAndIsNotThere) {
  const auto settled = settle(named(), kAll);
  ASSERT_FALSE(settled);
  EXPECT_EQ(settled.error().exit_code, Exit::unsupported);
  EXPECT_NE(settled.error().message().find("--engine psync"), std::string::npos);
}

// The planner's order by address, none of which is known, is the one by inode.
TEST(Fallback, ANamedOrderByAddressSaysWhatWasAskedAndWhatItGot) {
  CellSettings cell;
  cell.order_named = true;
  const auto settled = settle(cell, {"", kAll.addresses});
  ASSERT_TRUE(settled);
  EXPECT_EQ(settled->order, Order::inode);
  EXPECT_EQ(settled->order_asked, Order::lba);
  const auto notes = fallback_notes(*settled, {"", kAll.addresses});
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_NE(notes[0].find("asked lba, got inode"), std::string::npos);
  EXPECT_NE(notes[0].find(kAll.addresses), std::string::npos);
  EXPECT_FALSE(settle(cell, kNothing)->order_asked);
}

TEST(Fallback, ChunksAndWindowsWithoutAddressesSayThatTheyAreSortedByInode) {
  CellSettings chunked, window;
  chunked.order_named = window.order_named = true;
  chunked.order = Order::chunked;
  window.order = Order::random;
  window.sort_window = {Bytes{4096}, 0};
  for (const CellSettings& cell : {chunked, window}) {
    const Refusals refusals{"", kAll.addresses};
    const auto settled = settle(cell, refusals);
    ASSERT_TRUE(settled);
    EXPECT_EQ(settled->order, cell.order);
    const auto notes = fallback_notes(*settled, refusals);
    ASSERT_EQ(notes.size(), 1U);
    EXPECT_NE(notes[0].find("by inode"), std::string::npos);
    EXPECT_TRUE(fallback_notes(*settle(cell, kNothing), kNothing).empty());
  }
}

// A cell is named by what ran: what reads no device is not merge=device.
TEST(Fallback, MergingOnADeviceThatGivesNothingIsThatOfFilesAndSaysWhy) {
  CellSettings cell = named();
  cell.merge = Merge::device;
  Refusals refusals;
  refusals.device = "open /dev/loop0: Permission denied";
  const auto settled = settle(cell, refusals);
  ASSERT_TRUE(settled);
  EXPECT_EQ(settled->merge, Merge::file);
  EXPECT_EQ(settled->merge_asked, Merge::device);
  const auto notes = fallback_notes(*settled, refusals);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_NE(notes[0].find("asked device, got file, because open /dev/loop0: Permission denied"),
            std::string::npos);
  EXPECT_EQ(settle(cell, kNothing)->merge, Merge::device);
  cell.merge = Merge::kernel;
  EXPECT_FALSE(settle(cell, refusals)->merge_asked);
}

TEST(Fallback, ADeviceGivesNothingWhereEveryExtentIsOfAnotherKind) {
  support::FlatCatalog made("/data");
  made.add("a", 4096);
  made.add("b", 4096);
  made.extents[0].flags = kExtentInline;
  Source source;
  source.catalog = made.view();
  source.catalog.device_readable = true;
  EXPECT_EQ(device_refusal(source), "");
  made.extents[1].flags = kExtentEncoded;
  EXPECT_NE(device_refusal(source), "");
  source.catalog.device_readable = false;
  source.device_refused = "the disk is away";
  EXPECT_EQ(device_refusal(source), "the disk is away");
}

TEST(Fallback, LeavesNamedPoliciesThatWorkAlone) {
  CellSettings cell = named();
  cell.engine = EngineKind::psync;
  cell.order = Order::path;
  const auto settled = settle(cell, kAll);
  ASSERT_TRUE(settled);
  EXPECT_TRUE(fallback_notes(*settled, kAll).empty());
}

TEST(Fallback, DoesNotTryARingThatNoCellWants) {
  CellSettings cell = named();
  cell.engine = EngineKind::psync;
  Source source;
  EXPECT_EQ(find_refusals(source, {&cell, 1}).ring, "");
}

// An engine is tried at the greatest depth that a cell gives it.
TEST(Fallback, AnEngineThatCannotGoSoDeepIsRefusedBeforeTheFirstRun) {
  std::array<CellSettings, 3> cells{named(), named(), named()};
  for (CellSettings& cell : cells) {
    cell.engine = EngineKind::libaio;
    cell.depth = 4;
  }
  cells[2].engine = EngineKind::psync;
  const Source source;
  EXPECT_TRUE(find_refusals(source, cells).engines.empty());
  cells[1].depth = 100'000'000;  // fs.aio-max-nr bounds those of all processes
  const Refusals refusals = find_refusals(source, cells);
  ASSERT_EQ(refusals.engines.size(), 1U);
  EXPECT_NE(refusals.engines.at(EngineKind::libaio), "");
  EXPECT_EQ(settle(cells[1], refusals).error().exit_code, Exit::unsupported);
  EXPECT_TRUE(settle(cells[2], refusals));
}

}  // namespace
}  // namespace blksweep
