// What a database holds as JSON text may be anything, where a stranger wrote it: it is reported as
// empty.
#include <gtest/gtest.h>

#include <string>

#include "cli/report/ranks.h"
#include "cli/report/replays.h"
#include "cli/report/traces.h"

namespace blksweep {
namespace {

constexpr const char* kNoObjects[] = {"", "[1, 2]", "7", "null", "{\"cut", "\"text\""};

TEST(StoredDocuments, ThatAreNoObjectsAreEmptyOnes) {
  EXPECT_EQ(parse_object(R"({"a": 1})"), Json({{"a", 1}}));
  for (const char* text : kNoObjects) {
    EXPECT_EQ(parse_object(text), Json::object()) << text;
  }
}

TEST(StoredDocuments, OfReplaysAndTracesLeaveWhatHasAColumn) {
  for (const char* text : kNoObjects) {
    StoredReplay replay{.id = 3, .row = {}};
    replay.row.trace = "hm_0", replay.row.target = "loop0", replay.row.document = text;
    StoredTrace trace{.id = 4, .row = {}};
    trace.row.trace = "hm_0", trace.row.document = text;
    EXPECT_EQ(replays_json({replay}),
              Json::array({Json({{"replay_id", 3}, {"trace", "hm_0"}, {"target", "loop0"}})}))
        << text;
    EXPECT_EQ(traces_json({trace}), Json::array({Json({{"trace_id", 4}, {"trace", "hm_0"}})}))
        << text;
    EXPECT_NE(replays_text({replay}).find("depth 0"), std::string::npos) << text;
  }
}

TEST(StoredDocuments, OfRanksMayHoldOtherTypesThanOurs) {
  for (const char* text : {R"({"page_bytes": "x", "data_bytes": [], "warnings": 7})",
                           R"({"page_bytes": 8, "data_bytes": 4, "warnings": [{"a": 1}]})"}) {
    StoredRanks ranks{.id = 5, .row = {}};
    ranks.row.document = text, ranks.row.key = "[]";
    ranks.row.bytes = 4096, ranks.row.storage_bytes = 4096;
    EXPECT_NE(ranks_text({ranks}), "") << text;
    EXPECT_EQ(ranks_json({ranks}).size(), 1U) << text;
  }
}

}  // namespace
}  // namespace blksweep
