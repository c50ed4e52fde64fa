// A run is cold when it is known to be, and when the device gave what only it could give.
#include "experiment/proof/cold_proof.h"
#include "base/units.h"

#include <gtest/gtest.h>

#include "support/flat_catalog.h"

namespace blksweep {
namespace {

using support::FlatCatalog;

Residency examined(std::uint64_t bytes, std::uint64_t resident) {
  Residency r;
  r.files = 1;
  r.bytes = bytes;
  r.resident_bytes = resident;
  return r;
}

Residency not_examined() {
  Residency r;
  r.files = r.unreadable = 1;
  r.first_error = "open secret: Permission denied";
  return r;
}

TEST(ColdProof, ResidencyThatWasNotExaminedIsUnknownAlsoWhereOthersWere) {
  EXPECT_EQ(known_share(examined(100, 25)), 0.25);
  EXPECT_EQ(known_share(not_examined()), std::nullopt);
  Residency both = examined(100, 0);
  both.add(not_examined());
  EXPECT_EQ(known_share(both), std::nullopt);
  EXPECT_EQ(unexamined(both), "1 of 2 files could not be examined: open secret: Permission denied");
}

ColdStart cold() {
  ColdStart s;
  s.bytes = kMiB;
  s.resident = 0.0;
  s.device_bytes = kMiB;
  s.expected = kMiB;
  return s;
}

TEST(ColdProof, AColdRunThatTheDeviceServedIsComplete) {
  const CacheVerdict v = judge_cold(cold());
  EXPECT_EQ(v.incomplete, "");
  EXPECT_EQ(v.warning, "");
}

TEST(ColdProof, UnknownResidencyIsNotCold) {
  ColdStart s = cold();
  s.resident = std::nullopt;
  s.unexamined = "1 of 2 files could not be examined";
  EXPECT_EQ(judge_cold(s).incomplete, "not known to be cold: 1 of 2 files could not be examined");
}

TEST(ColdProof, NoBytesNeedNoProof) {
  ColdStart s = cold();
  s.bytes = s.expected = 0;
  s.resident = std::nullopt;
  EXPECT_EQ(judge_cold(s).incomplete, "");
}

TEST(ColdProof, DirectReadsThatACacheHalfServedAreIncompleteAndBufferedOnesWarn) {
  ColdStart s = cold();
  s.device_bytes = kMiB / 2;
  EXPECT_NE(judge_cold(s).incomplete.find("a cache held the rest"), std::string::npos);
  s.direct = false;
  EXPECT_EQ(judge_cold(s).incomplete, "");
  EXPECT_NE(judge_cold(s).warning.find("a cache held the rest"), std::string::npos);
  s.pinned_bytes = kMiB / 2;
  EXPECT_EQ(judge_cold(s).warning, "");
}

// On an overlay nobody says what the device must give; what a cache gave instead is told.
TEST(ColdProof, LessThanDataWithoutAddressesIsAWarning) {
  ColdStart s = cold();
  s.expected = 0;
  s.unplaced = kMiB;
  s.device_bytes = std::nullopt;
  s.own_bytes = kMiB / 2;
  EXPECT_EQ(judge_cold(s).incomplete, "");
  EXPECT_NE(judge_cold(s).warning.find("have no address"), std::string::npos);
  s.own_bytes = kMiB;
  EXPECT_EQ(judge_cold(s).warning, "");
  s.own_bytes = std::nullopt;
  EXPECT_EQ(judge_cold(s).warning, "");
}

// The disk read it all, but for another process, which filled the page cache for the run.
TEST(ColdProof, WhatTheDiskReadForOthersIsNoProofOfThisRun) {
  ColdStart s = cold();
  s.direct = false;
  s.own_bytes = kMiB / 2;
  EXPECT_NE(judge_cold(s).incomplete.find("this run read 512 KiB of the 1 MiB"), std::string::npos)
      << judge_cold(s).incomplete;
  s.own_bytes = kMiB;
  EXPECT_EQ(judge_cold(s).incomplete, "");
  s.own_bytes = kMiB / 2;
  s.pinned_bytes = kMiB / 2;
  EXPECT_EQ(judge_cold(s).incomplete, "") << "what the cell pins is meant to be resident";
  s.direct = true;
  EXPECT_NE(judge_cold(s).incomplete, "") << "direct reads pass pinned pages by";
}

// A peer that has a copy of the data on another disk.
TEST(ColdProof, WhatWasReadOnOtherDisksIsNoProofOfThisOne) {
  ColdStart s = cold();
  s.direct = false;
  s.own_bytes = 2 * kMiB;
  s.device_bytes = kMiB / 2;
  EXPECT_EQ(judge_cold(s).incomplete, "") << "btrfs may have the data on several";
  s.one_disk = true;
  EXPECT_NE(judge_cold(s).incomplete.find("the device read 512 KiB of the 1 MiB"),
            std::string::npos)
      << judge_cold(s).incomplete;
  s.device_bytes = kMiB;
  EXPECT_EQ(judge_cold(s).incomplete, "") << "its own libraries may lie anywhere";
  s.device_bytes = std::nullopt;
  EXPECT_EQ(judge_cold(s).incomplete, "");
}

TEST(ColdProof, TheRunsOwnBytesProveItWhereTheDiskHasNoStatistics) {
  ColdStart s = cold();
  s.device_bytes = std::nullopt;
  s.own_bytes = kMiB / 2;
  EXPECT_NE(judge_cold(s).incomplete.find("a cache held the rest"), std::string::npos);
}

TEST(InodeProof, InodesThatOthersHoldAreNotCold) {
  InodeHolders found;
  found.wanted = 2000;
  EXPECT_EQ(judge_inodes(found).incomplete + judge_inodes(found).warning, "");
  found.held = 2;
  found.holders = {{12, "bash", 2}};
  EXPECT_EQ(judge_inodes(found).incomplete, "") << "a thousandth";
  EXPECT_EQ(judge_inodes(found).warning,
            "inodes of 2 of 2,000 files stay cached: held open by pid 12 (bash)");
  found.held = 3;
  found.holders.push_back({13, "python3", 1});
  EXPECT_EQ(judge_inodes(found).incomplete,
            "not cold: inodes of 3 of 2,000 files stay cached: held open by pid 12 (bash) and 1 "
            "more");
}

WarmStart warm() {
  WarmStart s;
  s.bytes = 10'000 * kMiB;
  s.own_bytes = s.device_bytes = 0;
  return s;
}

TEST(ColdProof, SaysHowMuchWasResident) {
  ColdStart half;
  half.bytes = 100;
  half.resident = 0.5;
  EXPECT_EQ(judge_cold(half).incomplete, "not cold: 50.00 % of the data was resident");
}

TEST(WarmProof, ARunThatReadTheDeviceWasNotWarm) {
  WarmStart s = warm();
  EXPECT_EQ(judge_warm(s).incomplete, "");
  s.own_bytes = s.device_bytes = 10 * kMiB;
  EXPECT_EQ(judge_warm(s).incomplete, "") << "a thousandth";
  s.own_bytes = s.device_bytes = 11 * kMiB;
  EXPECT_EQ(judge_warm(s).incomplete,
            "not warm: this run read 11 MiB from the device for the 9.77 GiB that it delivered: "
            "pages had left the page cache");
  s = warm();
  s.bytes = 100 * kMiB;
  s.own_bytes = s.device_bytes = kMiB;
  EXPECT_EQ(judge_warm(s).incomplete, "") << "blocks of metadata";
  s.bytes = kMiB;
  EXPECT_NE(judge_warm(s).incomplete, "") << "all of it";
  s.own_bytes = s.device_bytes = kMiB / 32;
  EXPECT_EQ(judge_warm(s).incomplete, "") << "blocks of metadata of small data";
  s = warm();
  s.resident = 0.998;
  EXPECT_EQ(judge_warm(s).incomplete, "not warm: 99.8 % of the data was resident when it began");
  s.resident = 0.9995;
  EXPECT_EQ(judge_warm(s).incomplete, "");
}

// 3 % of 6 MiB in pages: 51 requests, half a second of a disk that seeks, beside some milliseconds.
TEST(WarmProof, FewBytesInManyRequestsAreNotWarm) {
  WarmStart s = warm();
  s.bytes = 6 * kMiB;
  s.reads = 1440;
  s.own_bytes = s.device_bytes = 51 * 4096;
  s.requests = 51;
  EXPECT_EQ(judge_warm(s).incomplete,
            "not warm: this run read 204 KiB from the device for the 6 MiB that it delivered, in "
            "about 51 requests: pages had left the page cache");
  s.device_bytes = 51 * 40960;
  EXPECT_EQ(judge_warm(s).incomplete, "") << "most of them were others'";
  s.own_bytes = s.device_bytes = 8 * 4096;
  s.requests = 8;
  EXPECT_EQ(judge_warm(s).incomplete, "") << "blocks of metadata";
  s = warm();
  s.reads = 100'000;
  s.own_bytes = s.device_bytes = 100 * 4096;
  s.requests = 100;
  EXPECT_EQ(judge_warm(s).incomplete, "") << "a thousandth";
  s.requests = 101;
  EXPECT_NE(judge_warm(s).incomplete, "");
}

TEST(WarmProof, ReadsOfOthersAndOfOtherDisksAreNotTheDatas) {
  WarmStart s = warm();
  s.device_bytes = 1000 * kMiB;
  EXPECT_EQ(judge_warm(s).incomplete, "") << "somebody else read the disk";
  s.own_bytes = 1000 * kMiB;
  s.device_bytes = 0;
  EXPECT_EQ(judge_warm(s).incomplete, "") << "the program's own pages came from another disk";
  s.one_disk = false;
  EXPECT_NE(judge_warm(s).incomplete, "") << "the data is on others too";
  s.own_bytes = std::nullopt;
  EXPECT_EQ(judge_warm(s).incomplete, "") << "not known";
  s = warm();
  s.own_bytes = 1000 * kMiB;
  s.device_bytes = std::nullopt;
  EXPECT_NE(judge_warm(s).incomplete, "") << "no statistics of the disk";
}

DirectReads compressed() {
  DirectReads s;
  s.bytes = s.indirect_bytes = s.delivered = 100 * kMiB;
  s.resident_before = 0.0;
  s.resident_after = 1.0;
  s.own_bytes = 4 * kMiB;
  return s;
}

TEST(DirectProof, ReadsThatLeftPagesWereNotDirect) {
  DirectReads s = compressed();
  EXPECT_EQ(judge_direct(s).incomplete, "");
  EXPECT_EQ(
      judge_direct(s).warning,
      "direct reads went through the page cache, which holds 100 % of the data after the run: "
      "100 MiB of 100 MiB are compressed, encrypted or inline, and the filesystem cannot read "
      "those directly");
  s.epochs = 2;
  EXPECT_NE(judge_direct(s).incomplete.find("not cold after the first epoch"), std::string::npos);
  s.cold = false;
  EXPECT_EQ(judge_direct(s).incomplete, "");
  EXPECT_NE(judge_direct(s).warning, "");
}

TEST(DirectProof, PagesThatWereThereAnsweredWhenTheDeviceDidNot) {
  DirectReads s = compressed();
  s.cold = false;
  s.resident_before = 1.0;
  EXPECT_EQ(judge_direct(s).warning, "") << "the device gave what compressed data needs";
  s.own_bytes = 0;
  EXPECT_NE(judge_direct(s).warning, "");
  s.own_bytes = kMiB;
  EXPECT_NE(judge_direct(s).warning, "") << "a few blocks of metadata were read again";
  s.own_bytes = std::nullopt;
  EXPECT_EQ(judge_direct(s).warning, "") << "not known";
}

TEST(DirectProof, PagesThatOthersReadSayNothingOfPlainExtents) {
  DirectReads s = compressed();
  s.epochs = 2;
  s.indirect_bytes = 0;
  EXPECT_EQ(judge_direct(s).incomplete + judge_direct(s).warning, "");
  s = compressed();
  s.resident_after = 0.0;
  EXPECT_EQ(judge_direct(s).incomplete + judge_direct(s).warning, "") << "read directly after all";
}

TEST(DirectProof, CompressedAndInlineExtentsAreTheOnesUpToTheEndOfTheFile) {
  FlatCatalog made("/data");
  made.add("a", 6000, 0);
  made.add("b", 100, 65536);
  made.add("c", 8192, 131072);
  made.extents[0].flags = kExtentEncoded;
  made.extents[1].flags = kExtentInline | kExtentNoAddress;
  made.extents[2].flags = kExtentNoAddress;
  EXPECT_EQ(indirect_bytes(made.view()), 6100U);
}

TEST(ColdProof, WithoutStatisticsNothingIsSaidOfTheDevice) {
  ColdStart s = cold();
  s.device_bytes = std::nullopt;
  EXPECT_EQ(judge_cold(s).incomplete, "");
}

// a: plain; b: the first half is unwritten, the rest a hole; c: compressed.
TEST(ColdProof, OnlyPlainExtentsMustComeFromTheDevice) {
  FlatCatalog made("/data");
  made.add("a", 8192, 0);
  made.add("b", 16384, 65536);
  made.add("c", 8192, 131072);
  made.extents[1].length = 8192;
  made.extents[1].flags = kExtentUnwritten;
  made.extents[2].flags = kExtentEncoded;
  const Catalog catalog = made.view();
  const Plan plan = make_plan(catalog, make_order(catalog, {.order = Order::path}), 1, {});
  EXPECT_EQ(expected_device_bytes(catalog, plan, true), 8192U);
  EXPECT_EQ(expected_device_bytes(catalog, plan, false), 8192U);
}

TEST(ColdProof, WhatHasNoAddressIsNotExpectedButCounted) {
  FlatCatalog made("/data");
  made.add("a", 8192, 0);
  made.add("b", 5000, 65536);
  made.extents[1].flags = kExtentNoAddress;
  const Catalog catalog = made.view();
  const Plan plan = make_plan(catalog, make_order(catalog, {.order = Order::path}), 1, {});
  EXPECT_EQ(expected_device_bytes(catalog, plan, false), 8192U);
  EXPECT_EQ(unplaced_bytes(catalog), 5000U);
}

TEST(ColdProof, AnotherEpochNeedsTheDeviceAgainOnlyWithDirectReads) {
  FlatCatalog made("/data");
  made.add("a", 8192, 0);
  const Catalog catalog = made.view();
  OrderSettings order;
  order.order = Order::path;
  order.epochs = 3;
  const Plan plan = make_plan(catalog, make_order(catalog, order), 3, {});
  EXPECT_EQ(expected_device_bytes(catalog, plan, true), 3 * 8192U);
  EXPECT_EQ(expected_device_bytes(catalog, plan, false), 8192U);
}

TEST(ColdProof, NamesOfOneFileShareItsPages) {
  FlatCatalog made("/data");
  made.add("a", 8192, 0);
  made.add("b", 8192, 0);
  made.add("c", 4096, 8192);
  made.files[1].inode = made.files[0].inode;
  const Catalog catalog = made.view();
  const Plan plan = make_plan(catalog, make_order(catalog, {.order = Order::path}), 1, {});
  EXPECT_EQ(expected_device_bytes(catalog, plan, false), 8192U + 4096U);
  EXPECT_EQ(expected_device_bytes(catalog, plan, true), 2 * 8192U + 4096U);
}

// Bytes behind the end of the file are no bytes of it, and overlapping records are read once.
TEST(ColdProof, BufferedReadsCountEachByteOfTheFileOnce) {
  FlatCatalog made("/data");
  made.add("a", 6000, 0);
  made.whole.clear();
  const std::vector<PartSample> parts{{0, 4000, 0, kNoLabel}, {2000, 4000, 0, kNoLabel}};
  Catalog catalog = made.view();
  catalog.parts = parts;
  const Plan plan = make_plan(catalog, make_order(catalog, {.order = Order::path}), 1, {});
  EXPECT_EQ(expected_device_bytes(catalog, plan, false), 6000U);
}

}  // namespace
}  // namespace blksweep
