// What a peer says is held against the plan and the files: only what is so counts.
#include "experiment/peer/peer_report.h"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <cerrno>

#include "base/json.h"
#include "base/rng.h"
#include "store/summary/decode_bound.h"
#include "support/temp_dir.h"

namespace blksweep {
namespace {

constexpr std::int64_t kBegin = 1'000'000'000;

class PeerReportTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (int f = 0; f < 10; ++f) {
      dir_.write("f" + std::to_string(f), text_of(f));
    }
    auto opened = open_source({dir_.path(), "", false});
    ASSERT_TRUE(opened) << opened.error().message();
    source_ = *std::move(opened);
    cell_.peer = "fake:fast";
    cell_.order = Order::random;
    cell_.direct = false;
    cell_.batch = 4;
    plan();
  }
  void plan() {
    auto planned = plan_epoch(source_, cell_, 1);
    ASSERT_TRUE(planned) << planned.error().message();
    planned_ = *std::move(planned);
  }
  static std::string text_of(int f) {
    return std::string(100 + static_cast<std::size_t>(f), static_cast<char>('a' + f));
  }
  std::uint64_t hash_of(std::uint32_t sample) const {
    const std::string path = source_.catalog.full_path(source_.catalog.sample(sample).file);
    const std::string text = text_of(path.back() - '0');
    return XXH3_64bits(text.data(), text.size());
  }
  // As a peer would that does what it is asked.
  PeerReport honest(bool hashes = true) const {
    PeerReport report;
    report.begin_ns = kBegin;
    std::int64_t now = kBegin;
    const auto& begins = planned_.schedule.batch_begin;  // a batch never spans epochs
    for (std::size_t b = 0; b + 1 < begins.size(); ++b) {
      PeerBatch& batch = report.batches.emplace_back();
      batch.ready_ns = now += 1000;
      batch.used_ns = now += cell_.compute.mean.count();
      for (std::size_t i = begins[b]; i < begins[b + 1]; ++i) {
        const std::uint32_t s = planned_.plan.order[i];
        batch.samples.push_back(s);
        batch.bytes += source_.catalog.sample(s).length;
        if (hashes) {
          batch.hashes.emplace_back(s, hash_of(s));
        }
      }
    }
    report.end_ns = now + 500;
    return report;
  }
  RunRecord judge(const PeerReport& report, bool verify = true) const {
    RunRecord r;
    [[maybe_unused]] const auto emitted = record_report(
        r, report,
        {source_, cell_, planned_, 1, verify, samples_to_hash(source_.catalog, verify, true, 1)});
    return r;
  }
  void expect_incomplete(const PeerReport& report, const std::string& why) const {
    const RunRecord r = judge(report);
    EXPECT_TRUE(r.incomplete);
    EXPECT_NE(r.incomplete_reason.find(why), std::string::npos) << r.incomplete_reason;
  }

  TempDir dir_;
  Source source_;
  CellSettings cell_;
  PlannedEpoch planned_;
};

TEST_F(PeerReportTest, WhatIsSoCounts) {
  const RunRecord r = judge(honest());
  EXPECT_FALSE(r.incomplete) << r.incomplete_reason;
  EXPECT_EQ(r.samples, 10U);
  EXPECT_EQ(r.missing_samples, 0U);
  EXPECT_EQ(r.wrong_samples, std::uint64_t{0});
  EXPECT_EQ(r.bytes, source_.catalog.bytes().n);
  EXPECT_EQ(r.begin_ns, kBegin);
  EXPECT_EQ(r.epoch_ns, 3000) << "until the last batch was used, and not until it said so";
  EXPECT_EQ(r.first_batch_ns, 1000);
  EXPECT_EQ(r.batches.size(), 3U);
  EXPECT_FALSE(r.utilisation) << "it has no consumer";
  EXPECT_EQ(r.batches[1].times.arrived(), kBegin + 2000);
  EXPECT_FALSE(r.quality.rank_decorrelation_vs_read) << "in which order it read is not known";
  EXPECT_EQ(r.quality.rank_decorrelation.has_value(), true);
}

TEST_F(PeerReportTest, EachEpochHasEverySampleOnce) {
  cell_.epochs = 2;
  plan();
  PeerReport report = honest();
  EXPECT_FALSE(judge(report).incomplete) << judge(report).incomplete_reason;
  std::swap(report.batches[0], report.batches[3]);  // the same samples in all, but not in each
  std::swap(report.batches[0].ready_ns, report.batches[3].ready_ns);
  std::swap(report.batches[0].used_ns, report.batches[3].used_ns);
  const RunRecord r = judge(report);
  EXPECT_GT(r.missing_samples, 0U);
  EXPECT_NE(r.incomplete_reason.find("came more than once in an epoch"), std::string::npos);
}

TEST_F(PeerReportTest, WhatIsMissingOrComesTwiceIsFound) {
  PeerReport report = honest();
  report.batches.pop_back();
  EXPECT_EQ(judge(report).missing_samples, 2U);
  report.batches.push_back(report.batches.front());
  report.batches.back().ready_ns = report.batches.back().used_ns = kBegin + 3000;
  const RunRecord r = judge(report);
  EXPECT_EQ(r.missing_samples, 2U);
  EXPECT_NE(r.incomplete_reason.find("4 samples came more than once"), std::string::npos);
}

TEST_F(PeerReportTest, AnotherHashIsAWrongSampleWithItsName) {
  PeerReport report = honest();
  report.batches[1].hashes[2].second ^= 1;
  const RunRecord r = judge(report);
  EXPECT_EQ(r.wrong_samples, std::uint64_t{1});
  ASSERT_EQ(r.failed.size(), 1U);
  EXPECT_NE(r.failed[0].path.find("/f"), std::string::npos);
}

TEST_F(PeerReportTest, AFileThatGotShorterIsAWrongSampleAndSaysSo) {
  const PeerReport report = honest();
  dir_.write("f3", "short");
  errno = EINTR;  // of something before
  const RunRecord r = judge(report);
  EXPECT_EQ(r.wrong_samples, std::uint64_t{1});
  ASSERT_EQ(r.failed.size(), 1U);
  EXPECT_NE(r.failed[0].path.find("/f3"), std::string::npos);
  EXPECT_NE(r.failed[0].error.find("ends early"), std::string::npos) << r.failed[0].error;
}

TEST_F(PeerReportTest, ASampledHashIsChecked) {
  PeerReport report = honest();
  RunRecord r = judge(report, false);
  EXPECT_FALSE(r.incomplete) << r.incomplete_reason;
  EXPECT_EQ(r.checked_pieces, std::uint64_t{10}) << "all of few";
  EXPECT_EQ(r.checked_wrong, std::uint64_t{0});
  EXPECT_FALSE(r.wrong_samples);
  report.batches[0].hashes[0].second ^= 1;
  r = judge(report, false);
  EXPECT_TRUE(r.incomplete);
  EXPECT_EQ(r.checked_wrong, std::uint64_t{1});
}

TEST_F(PeerReportTest, HashesThatWereAskedForAndDidNotComeAreCounted) {
  expect_incomplete(honest(false), "10 samples have no hash although it was asked for");
  PeerReport report = honest();
  report.batches[0].hashes.emplace_back(report.batches[1].samples[0], 1);
  expect_incomplete(report, "which is not in it");
}

TEST_F(PeerReportTest, LiesAreTold) {
  PeerReport report = honest();
  report.batches[2].bytes += 1;
  expect_incomplete(report, "batch 2 has");
  report = honest();
  report.batches[0].samples[0] = 10;
  expect_incomplete(report, "batch 0 has sample 10 of 10");
  report = honest();
  report.batches[0].ready_ns = kBegin - 1;
  expect_incomplete(report, "outside of its epoch");
  report = honest();
  report.batches[2].used_ns = report.end_ns + 1;
  expect_incomplete(report, "outside of its epoch");
  report = honest();
  report.batches[1].used_ns = report.batches[1].ready_ns - 1;
  expect_incomplete(report, "outside of its epoch");
  EXPECT_EQ(judge(report).samples, 0U) << "nothing of what is not so counts";
}

TEST_F(PeerReportTest, AConsumerThatWasNotEmulatedIsFound) {
  cell_.consumer = ConsumerKind::emulated;
  cell_.compute.mean = Nanos{2000};
  PeerReport report = honest();
  const RunRecord r = judge(report);
  EXPECT_FALSE(r.incomplete) << r.incomplete_reason;
  EXPECT_DOUBLE_EQ(r.utilisation.value_or(0), 6000.0 / 9000.0);
  EXPECT_EQ(r.batches[0].times[Stage::compute]->length(), 2000);
  report.batches[1].used_ns -= 1500;
  expect_incomplete(report, "batch 1 was computed with for");
}

// One consumer computes with one batch at a time, however early the others were there.
TEST_F(PeerReportTest, ComputingWithTwoBatchesAtOnceIsFound) {
  cell_.consumer = ConsumerKind::emulated;
  cell_.compute.mean = Nanos{2000};
  PeerReport report = honest();
  report.batches[1].ready_ns = report.batches[0].ready_ns;  // was waiting: as long in all
  EXPECT_FALSE(judge(report).incomplete) << judge(report).incomplete_reason;
  for (std::size_t b = 0; b < report.batches.size(); ++b) {
    report.batches[b].ready_ns = kBegin + static_cast<std::int64_t>(b);
    report.batches[b].used_ns = report.batches[b].ready_ns + 2000;
  }
  expect_incomplete(report, "batch 1 was computed with for 1 ns, where 2 us were asked for");
}

TEST_F(PeerReportTest, ABatchThatIsUsedBeforeTheOneAheadMakesNoShorterEpoch) {
  PeerReport report = honest();
  report.batches[1].used_ns = report.end_ns;
  expect_incomplete(report, "batch 2 was ready at");
}

TEST_F(PeerReportTest, LargerBatchesAreNotThoseThatWereAskedFor) {
  PeerReport report = honest();
  PeerBatch& first = report.batches[0];
  PeerBatch& second = report.batches[1];
  second.samples.insert(second.samples.begin(), first.samples.begin(), first.samples.end());
  second.hashes.insert(second.hashes.begin(), first.hashes.begin(), first.hashes.end());
  second.bytes += first.bytes;
  report.batches.erase(report.batches.begin());
  expect_incomplete(report, "batch 0 has 8 samples, 4 were asked for");
}

TEST_F(PeerReportTest, SmallerBatchesAreComputedWithLongerAndToldOf) {
  cell_.consumer = ConsumerKind::emulated;
  cell_.compute.mean = Nanos{2000};
  PeerReport report = honest();
  EXPECT_TRUE(judge(report).warnings.empty());
  PeerBatch& last = report.batches[2];
  PeerBatch more = last;
  more.samples = {last.samples[1]};
  more.hashes = {last.hashes[1]};
  more.bytes = source_.catalog.sample(more.samples[0]).length;
  last.samples.pop_back();
  last.hashes.pop_back();
  last.bytes -= more.bytes;
  more.ready_ns = last.used_ns;
  report.end_ns = more.used_ns = more.ready_ns + 2000;
  report.batches.push_back(more);
  const RunRecord r = judge(report);
  EXPECT_FALSE(r.incomplete) << r.incomplete_reason;
  ASSERT_EQ(r.warnings.size(), 1U);
  EXPECT_NE(r.warnings[0].find("4 batches, where ours are 3"), std::string::npos);
}

TEST_F(PeerReportTest, TimeThatNoBatchTellsOfIsNoEnd) {
  PeerReport report = honest();
  report.end_ns = report.batches.back().used_ns + 200'000'000;
  EXPECT_FALSE(judge(report).incomplete) << "a machine that is busy for a moment";
  report.end_ns = report.batches.back().used_ns + 300'000'000;
  expect_incomplete(report, "300 ms after its last batch was used");
  report.begin_ns -= 10'000'000'000;
  EXPECT_FALSE(judge(report).incomplete) << "little of its epoch";
}

TEST_F(PeerReportTest, WaitingForDecodersIsHeldAgainstItsBatches) {
  PeerReport report = honest();
  EXPECT_FALSE(judge(report).decode.wait) << "it said nothing of decoding";
  report.decode = PeerDecode{.decoders = 2, .wait_ns = 1500, .hash = 0xabc};
  const RunRecord r = judge(report);
  EXPECT_FALSE(r.incomplete) << r.incomplete_reason;
  EXPECT_EQ(r.decode.decoders, std::uint32_t{2});
  EXPECT_DOUBLE_EQ(r.decode.wait.value_or(0), 0.5);
  EXPECT_EQ(r.decode.hash, "0000000000000abc");
  report.decode->wait_ns = 3001;
  expect_incomplete(report, "waited 3001 ns for decoders, where its batches have 3000");
  report.decode->wait_ns = -1;
  expect_incomplete(report, "waited -1 ns for decoders");
  report.decode = PeerDecode{.decoders = 0, .wait_ns = 1};
  expect_incomplete(report, "waited 1 ns for decoders, where its batches have 0");
}

TEST(DecodeBound, IsWhereTheConsumerWaitedForDecodersHalfOfTheEpoch) {
  EXPECT_EQ(decode_bound_text(0.93), "93 %, decode-bound");
  EXPECT_EQ(decode_bound_text(kDecodeBound), "50 %, decode-bound");
  EXPECT_EQ(decode_bound_text(0.04), "4 %, not decode-bound");
  EXPECT_EQ(decode_bound_text(0), "0 %, not decode-bound");
}

TEST_F(PeerReportTest, TheQuestionSaysWhatIsWanted) {
  cell_.epochs = 2;
  cell_.consumer = ConsumerKind::emulated;
  cell_.compute.mean = Nanos{5000};
  plan();
  const Json q = parse_json(question_text({source_.catalog, cell_, planned_, 7, {3, 4}, "/form"}));
  EXPECT_EQ(q["protocol"], 1);
  EXPECT_EQ(q["variant"], "fast");
  EXPECT_EQ(q["form"], "/form");
  EXPECT_EQ(q["hash"], Json::array({3, 4}));
  EXPECT_EQ(q["samples"].size(), 10U);
  EXPECT_EQ(q["compute_ns"].size(), 6U);
  ASSERT_EQ(q["epochs"].size(), 2U);
  std::vector<std::uint32_t> order;
  for (const Json& epoch : q["epochs"]) {
    order.insert(order.end(), epoch.begin(), epoch.end());
  }
  EXPECT_EQ(order, planned_.plan.order);
}

TEST(PeerLines, OnlyWhatTheProtocolHasIsTaken) {
  const auto line = parse_peer_line(
      R"({"event": "batch", "ready_ns": 5, "samples": [1, 0], "bytes": 9, "hashes": {"1": "ff"}})");
  ASSERT_TRUE(line) << line.error().message();
  EXPECT_EQ(line->batch.used_ns, 5) << "without a consumer it is used when it is there";
  EXPECT_EQ(line->batch.samples, (std::vector<std::uint32_t>{1, 0}));
  EXPECT_EQ(line->batch.hashes.at(0).second, 0xFFU);
  const auto decode = parse_peer_line(
      R"({"event": "decode", "decoders": 2, "wait_ns": 7, "hash": "00000000000000ff"})");
  ASSERT_TRUE(decode) << decode.error().message();
  EXPECT_EQ(decode->decode.decoders, 2U);
  EXPECT_EQ(decode->decode.wait_ns, 7);
  EXPECT_EQ(decode->decode.hash, 0xFFU);
  for (const char* text :
       {"", "hello", R"({"event": "decode", "decoders": 2, "wait_ns": 7})",
        R"({"event": "decode", "decoders": -2, "wait_ns": 7, "hash": "ff"})",
        R"({"event": "decode", "decoders": 2, "wait_ns": 7, "hash": "pixels"})", "[]", "{}",
        R"({"event": 1})", R"({"event": "start"})", R"({"event": "batch"})",
        R"({"event": "ready", "form": "yes"})",
        R"({"event": "batch", "ready_ns": 5, "samples": [-1], "bytes": 9})",
        R"({"event": "batch", "ready_ns": 5, "samples": [4294967296], "bytes": 9})",
        R"({"event": "batch", "ready_ns": 1.5, "samples": [], "bytes": 9})",
        R"({"event": "batch", "ready_ns": 5, "samples": [], "bytes": -9})",
        R"({"event": "batch", "ready_ns": 99999999999999999999, "samples": [], "bytes": 9})",
        R"({"event": "batch", "ready_ns": 5, "samples": [], "bytes": 9, "hashes": {"x": "ff"}})",
        R"({"event": "batch", "ready_ns": 5, "samples": [], "bytes": 9, "hashes": {"1": "0xff"}})",
        R"({"event": "batch", "ready_ns": 5, "samples": [], "bytes": 9, "hashes": ["ff"]})"}) {
    EXPECT_FALSE(parse_peer_line(text)) << text;
  }
}

TEST(PeerLines, GarbageIsQuotedInOneShortLine) {
  const auto line = parse_peer_line("\x1b[2J" + std::string(1000, 'x') + "\n");
  ASSERT_FALSE(line);
  EXPECT_LT(line.error().message().size(), 200U);
  EXPECT_EQ(line.error().message().find('\x1b'), std::string::npos);
}

TEST(SamplesToHash, AllSomeOrNone) {
  TempDir dir;
  for (int f = 0; f < 200; ++f) {
    dir.write("f" + std::to_string(f), "x");
  }
  const auto source = open_source({dir.path(), "", false});
  ASSERT_TRUE(source);
  EXPECT_EQ(samples_to_hash(source->catalog, true, false, 1).size(), 200U);
  EXPECT_EQ(samples_to_hash(source->catalog, false, true, 1).size(), 64U);
  EXPECT_NE(samples_to_hash(source->catalog, false, true, 1),
            samples_to_hash(source->catalog, false, true, 2));
  EXPECT_TRUE(samples_to_hash(source->catalog, false, false, 1).empty());
}

}  // namespace
}  // namespace blksweep
