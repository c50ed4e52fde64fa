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

}  // namespace
}  // namespace blksweep
