// In which order a viewer shows the lanes of a timeline.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/json.h"
#include "store/export/trace_events.h"
#include "support/demo_records.h"

namespace blksweep {
namespace {

struct ViewerLanes {
  std::map<int, std::string> named;
  std::map<int, int> placed;
};

ViewerLanes viewed(const std::string& document) {
  ViewerLanes found;
  const Json parsed = parse_json(document);
  for (const Json& event : parsed["traceEvents"]) {
    const std::string name = event.value("name", "");
    if (name == "thread_name") {
      found.named[event["tid"].get<int>()] = event["args"]["name"].get<std::string>();
    } else if (name == "thread_sort_index") {
      found.placed[event["tid"].get<int>()] = event["args"]["sort_index"].get<int>();
    }
  }
  return found;
}

// Each thread is told its place, and that is its number.
void expect_in_order(const ViewerLanes& lanes) {
  EXPECT_EQ(lanes.placed.size(), lanes.named.size());
  for (const auto& [thread, place] : lanes.placed) {
    EXPECT_EQ(place, thread);
    EXPECT_TRUE(lanes.named.contains(thread)) << thread;
  }
}

TEST(TraceLanes, OfARunHaveTheOrderOfTheirNumbers) {
  RunRecord run = demo_run(0);
  run.batches.resize(1);
  const ViewerLanes lanes =
      viewed(trace_events({1, "lba", demo_cell("lba", "none"), demo_host(), run, {}}));
  EXPECT_GE(lanes.named.size(), 2U);
  EXPECT_EQ(lanes.named.begin()->second, "epoch");
  expect_in_order(lanes);
}

TEST(TraceLanes, OfAQueueAreItsPlacesThatWereTaken) {
  const ViewerLanes lanes = viewed(
      place_events("replay", "slot", {{0, 5, 9, "a", {}}, {4, 6, 7, "b", {}}, {0, 9, 10, "c", {}}},
                   Json::object()));
  EXPECT_EQ(lanes.named, (std::map<int, std::string>{{1, "slot 1"}, {5, "slot 5"}}));
  expect_in_order(lanes);
}

TEST(TraceLanes, OfAQueueHoldWhatItsPlaceHad) {
  const Json document = parse_json(place_events(
      "replay", "slot", {{0, 5, 9, "a", {}}, {4, 6, 7, "b", {}}, {0, 9, 10, "c", {}}}, {}));
  std::map<std::string, int> lanes;
  for (const Json& event : document["traceEvents"]) {
    if (event["ph"] == "X") {
      lanes[event["name"].get<std::string>()] = event["tid"].get<int>();
    }
  }
  EXPECT_EQ(lanes, (std::map<std::string, int>{{"a", 1}, {"b", 5}, {"c", 1}}));
}

}  // namespace
}  // namespace blksweep
