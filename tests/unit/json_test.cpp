#include "store/export/json.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "store/export/csv.h"
#include "store/summary/summary.h"
#include "support/demo_records.h"

namespace blksweep {
namespace {

// The order and names that `run --json` promises; other tools read them.
constexpr const char* kPromised[] = {"cell",
                                     "repeat",
                                     "seed",
                                     "samples",
                                     "missing_samples",
                                     "wrong_samples",
                                     "bytes",
                                     "device_bytes",
                                     "epoch_ns",
                                     "first_batch_ns",
                                     "samples_per_s",
                                     "cpu_ns",
                                     "requests_issued",
                                     "depth_mean",
                                     "resident_before",
                                     "utilisation",
                                     "emission_hash",
                                     "shuffle_quality",
                                     "fio_ratio",
                                     "incomplete",
                                     "warnings",
                                     "refill",
                                     "requests_twin",
                                     "fio_plain_ratio",
                                     "peers"};

TEST(RunJson, HasThePromisedKeysInOrder) {
  const Json json = run_json(demo_cell("lba", "device"), demo_run(1));
  auto at = json.begin();
  for (const char* key : kPromised) {
    ASSERT_NE(at, json.end());
    EXPECT_EQ(at.key(), key);
    ++at;
  }
}

TEST(RunJson, GivesValuesTheirTypes) {
  const Json json = run_json(demo_cell("lba", "device"), demo_run(1));
  EXPECT_EQ(json["cell"]["order"], "lba");
  EXPECT_EQ(json["cell"]["depth"], 128);
  EXPECT_EQ(json["cell"]["window_bytes"], 67108864);
  EXPECT_EQ(json["seed"], 0xFFFFFFFFFFFFFFFFULL);
  EXPECT_DOUBLE_EQ(json["samples_per_s"].get<double>(), 20000 / 2.01);
  EXPECT_EQ(json["requests_issued"], 100);
  EXPECT_EQ(json["depth_mean"], 31.5);
  EXPECT_EQ(json["shuffle_quality"]["label_mix"], 0.8);
  EXPECT_EQ(json["fio_ratio"], 1.25);
  EXPECT_EQ(json["requests_twin"], 400);
  EXPECT_EQ(json["refill"], 32);
  EXPECT_TRUE(json["fio_plain_ratio"].is_null()) << "it means nothing in this run";
  EXPECT_EQ(json["fio_plain"]["ratio_reason"], "a reason");
  EXPECT_EQ(json["incomplete"], false);
  EXPECT_EQ(json["warnings"].size(), 2U);
  EXPECT_EQ(json["probe"]["plug_merges"], 7);
  EXPECT_FALSE(json.contains("quality_label_mix")) << "said once, in shuffle_quality";
}

TEST(RunJson, UnknownIsNull) {
  const Json json = run_json({}, RunRecord{});
  for (const char* key :
       {"wrong_samples", "device_bytes", "first_batch_ns", "samples_per_s", "requests_issued",
        "depth_mean", "resident_before", "utilisation", "fio_ratio", "requests_twin",
        "fio_plain_ratio", "submit_batch", "pair_position", "probe", "fio", "fio_plain"}) {
    ASSERT_TRUE(json.contains(key)) << key;
    EXPECT_TRUE(json[key].is_null()) << key;
  }
  EXPECT_TRUE(json["shuffle_quality"]["displacement"].is_null());
  EXPECT_EQ(json["missing_samples"], 0);
}

TEST(CellJson, KeepsTextThatOnlyLooksLikeANumber) {
  const Json json = cell_json({{{"a", "007"},
                                {"b", "10%"},
                                {"c", "-1"},
                                {"d", "true"},
                                {"e", ""},
                                {"f", "0"},
                                {"g", "99999999999999999999"}}});
  EXPECT_EQ(json.dump(),
            R"({"a":"007","b":"10%","c":"-1","d":true,"e":"","f":0,"g":"99999999999999999999"})");
}

TEST(ToText, ReplacesBytesThatAreNotUtf8) {
  EXPECT_NE(json_text(Json{{"path",
                            "a\xFF"
                            "b"}})
                .find("a\xEF\xBF\xBD"
                      "b"),
            std::string::npos);
}

Json run_of_peer(const std::string& peer, std::uint32_t repeat, std::int64_t epoch_ns) {
  CellRecord cell = demo_cell("random", "none");
  cell.settings.emplace_back("peer", peer);
  cell.settings.emplace_back("peer-workers", peer == "-" ? "-" : "4");
  cell.settings.emplace_back("peer-prefetch", peer == "-" ? "-" : "2");
  RunRecord run = demo_run(repeat);
  run.session_id = 1;
  run.epoch_ns = epoch_ns;
  run.incomplete = false;
  return run_json(cell, run);
}

TEST(Peers, AreThoseOfTheSameRoundWithOursOverTheirs) {
  Json runs = Json::array({run_of_peer("-", 0, 1'000'000'000), run_of_peer("torch", 1, 1),
                           run_of_peer("torch", 0, 4'000'000'000)});
  add_peers(runs);
  ASSERT_EQ(runs[0]["peers"].size(), 1U);
  const Json& peer = runs[0]["peers"][0];
  EXPECT_EQ(peer["name"], "torch");
  EXPECT_EQ(peer["workers"], 4);
  EXPECT_DOUBLE_EQ(peer["samples_per_s"].get<double>(), 5000);
  EXPECT_DOUBLE_EQ(peer["ratio"].get<double>(), 4);
  EXPECT_TRUE(runs[2]["peers"].empty()) << "a peer is compared with nobody";
}

TEST(Peers, WhatIsIncompleteIsNoPeerAndHasNoRatio) {
  Json runs = Json::array({run_of_peer("-", 0, 1'000'000'000), run_of_peer("torch", 0, 1000)});
  runs[1]["incomplete"] = true;
  add_peers(runs);
  EXPECT_TRUE(runs[0]["peers"].empty());
  runs[1]["incomplete"] = false;
  runs[0]["incomplete"] = true;
  add_peers(runs);
  EXPECT_TRUE(runs[0]["peers"][0]["ratio"].is_null());
}

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> out(1);
  for (const char c : line) {
    c == ',' ? out.emplace_back().clear() : out.back().push_back(c);
  }
  return out;
}

TEST(CellsCsv, EachColumnHasWhatItsNameSays) {
  using S = CellSummary;
  const std::vector<std::pair<std::string, Maybe<double> S::*>> named{
      {"ceiling_share", &S::ceiling_share},
      {"decode_wait", &S::decode_wait},
      {"prediction_epoch_ns", &S::prediction_epoch_ns},
      {"prediction_error", &S::prediction_error},
      {"first_batch_ns", &S::first_batch_ns},
      {"depth_mean", &S::depth_mean},
      {"requests_issued", &S::requests_issued},
      {"read_amplification", &S::read_amplification},
      {"device_fallbacks", &S::device_fallbacks},
      {"cpu_ns_per_sample", &S::cpu_ns_per_sample},
      {"utilisation", &S::utilisation},
      {"exposed_copy", &S::exposed_copy},
      {"ideal_share", &S::ideal_share},
      {"copy_cpu_ns_per_part", &S::copy_cpu_ns_per_part},
      {"resident_before", &S::resident_before}};
  S cell;
  for (std::size_t i = 0; i < named.size(); ++i) {
    cell.*named[i].second = static_cast<double>(i) + 0.5;
  }
  std::istringstream lines(cells_csv({cell}));
  std::string heading, values;
  std::getline(lines, heading);
  std::getline(lines, values);
  const std::vector<std::string> names = fields_of(heading), texts = fields_of(values);
  for (std::size_t i = 0; i < named.size(); ++i) {
    const auto at = std::ranges::find(names, named[i].first) - names.begin();
    ASSERT_LT(at, std::ssize(names)) << named[i].first;
    EXPECT_EQ(texts.at(static_cast<std::size_t>(at)), std::to_string(i) + ".5") << named[i].first;
  }
  for (const char* other : {"label",
                            "baseline",
                            "runs",
                            "incomplete",
                            "samples_per_s",
                            "bytes_per_s_least",
                            "ratio",
                            "ratio_to",
                            "fio_ratio_low",
                            "fio_plain_ratio",
                            "device_requests",
                            "fio_requests",
                            "peer_reads",
                            "hidden_transfer",
                            "exposed_transfer",
                            "transfer_bytes_per_s",
                            "fed_gap_ns",
                            "quality_displacement",
                            "quality_rank_decorrelation",
                            "quality_neighbours_broken",
                            "quality_label_mix"}) {
    EXPECT_TRUE(std::ranges::count(names, other) == 1) << other;
  }
}

}  // namespace
}  // namespace blksweep
