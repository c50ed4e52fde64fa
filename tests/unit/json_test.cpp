#include "store/json.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace blksweep
