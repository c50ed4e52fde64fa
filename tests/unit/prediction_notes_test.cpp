#include "experiment/prediction_notes.h"

#include <gtest/gtest.h>

namespace blksweep {
namespace {

TEST(PredictionNotes, NameWhatACellHasAndThePredictionHasNot) {
  const auto notes = [](const CellSettings& cell) {
    std::string all;
    for (const std::string& note : prediction_notes(cell, {})) {
      all += note + "|";
    }
    return all;
  };
  CellSettings cell;
  cell.consumer = ConsumerKind::emulated;
  cell.node.scheduler = "none";
  EXPECT_EQ(notes(cell), "") << "this is what is modelled";
  cell.copy = CopyKind::host;
  cell.decode_threads = 2;
  cell.consumer = ConsumerKind::cuda;
  cell.node.scheduler = "mq-deadline";
  cell.node.iops_limit = 100;
  const std::string all = notes(cell);
  for (const char* word : {"copy", "decode-threads=2", "consumer", "scheduler=mq-deadline",
                           "iops-limit", "not modelled"}) {
    EXPECT_NE(all.find(word), std::string::npos) << word << " in " << all;
  }
}

TEST(PredictionNotes, SayWhatAMeasuredModelSaysOfItself) {
  ModelSpec model;
  CellSettings cell;
  cell.depth = 128;
  model.description = "7200 rpm, as documented";
  EXPECT_TRUE(model_notes(model, cell).empty()) << "its queue is a part of it";
  model.description = "flash with 16 channels, fitted to a latency map of /dev/sdb";
  ASSERT_EQ(model_notes(model, cell).size(), 1U);
  EXPECT_NE(model_notes(model, cell)[0].find("depth above 64"), std::string::npos);
  cell.depth = 64;
  EXPECT_TRUE(model_notes(model, cell).empty());
  model.description = "POOR FIT, the best model is 3 times off; " + model.description;
  ASSERT_EQ(model_notes(model, cell).size(), 1U);
  EXPECT_NE(model_notes(model, cell)[0].find("POOR FIT, the best model is 3 times off"),
            std::string::npos);
}

TEST(PredictionNotes, NameTheQueueThatIsNotModelled) {
  CellSettings cell;
  cell.depth = 32;
  EXPECT_TRUE(
      queue_notes({{"scheduler", "[none] mq-deadline"}, {"nr_requests", "32"}}, cell).empty());
  const auto notes =
      queue_notes({{"nr_requests", "8"}, {"scheduler", "none [mq-deadline] bfq"}}, cell);
  ASSERT_EQ(notes.size(), 2U);
  EXPECT_NE(notes[0].find("depth above the 8 requests"), std::string::npos);
  EXPECT_NE(notes[1].find("[mq-deadline]"), std::string::npos);
  cell.node.scheduler = "none";
  cell.node.nr_requests = 64;
  EXPECT_TRUE(
      queue_notes({{"nr_requests", "8"}, {"scheduler", "none [mq-deadline]"}}, cell).empty())
      << "the run has another";
  EXPECT_TRUE(queue_notes({{"nomerges", "1"}}, cell).empty()) << "the plug merges then, too";
  ASSERT_EQ(queue_notes({{"nomerges", "2"}}, cell).size(), 1U);
  EXPECT_NE(queue_notes({{"nomerges", "2"}}, cell)[0].find("nomerges 2"), std::string::npos);
  cell.node.nomerges = 0;
  EXPECT_TRUE(queue_notes({{"nomerges", "2"}}, cell).empty());
}

TEST(PredictionNotes, SayThatTheProbeSawOtherRequests) {
  const auto note = [](std::uint64_t predicted, std::uint64_t seen, std::uint64_t lost = 0) {
    PredictionRecord p;
    p.requests = predicted;
    ProbeRecord probe;
    probe.requests = seen;
    probe.lost_events = lost;
    return requests_note(p, probe);
  };
  EXPECT_EQ(note(385, 853),
            "385 requests are predicted, and the probe saw 853: the epoch is another");
  EXPECT_NE(note(853, 385), "");
  EXPECT_EQ(note(10, 26), "") << "a few are a journal's";
  EXPECT_NE(note(10, 27), "");
  EXPECT_EQ(note(900, 1000), "");
  EXPECT_NE(note(899, 1000), "");
  EXPECT_EQ(note(385, 853, 1), "") << "then it did not see all";
}

TEST(PredictionNotes, TheSpeedOfStoredRunsIsThatOfTheEmulatedDiskTheyStoodOn) {
  const auto of = [](const char* value) {
    return stored_speedup({{"loop1", "kind", "loop"}, {"loop0", "emulation", value}});
  };
  EXPECT_EQ(of("emulated hdd-7200 x10 089cd91211d51d7f"), 10);
  EXPECT_EQ(of("emulated my x2 disk x1.5 089cd91211d51d7f"), 1.5);
  for (const char* none :
       {"", "emulated", "emulated m x 0", "emulated m x0 1", "emulated m x-3 1"}) {
    EXPECT_EQ(of(none), 1) << none;
  }
  EXPECT_EQ(stored_speedup({{"sda", "kind", "hardware"}}), 1);
}

}  // namespace
}  // namespace blksweep
