// What `blksweep replay` says: of each replay as it ends, and of all repeats at the end, those that
// the database had included.
//
// Threads: one owner.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "replay/replay.h"
#include "store/result_reader.h"

namespace blksweep {

class ReplayAnswer {
 public:
  ReplayAnswer(std::string trace, unsigned repeats) : trace_(std::move(trace)), repeats_(repeats) {}

  // Those with this key; if they are all, says that nothing is measured.
  Result<> take_stored(const std::string& db, const std::string& key);
  // Its warnings, once each; of several replays a line each.
  void add(const ReplayReport& report, StoredReplay replay);

  bool empty() const { return replays_.empty(); }
  unsigned complete() const;  // which need not be made again
  std::string text() const;   // of a single one measured now in full, else a table
  std::string json() const;
  Exit exit() const;

 private:
  std::string trace_;
  unsigned repeats_;
  std::vector<StoredReplay> replays_;  // without curves
  std::optional<std::string> last_;    // the text of the one that was made last
  std::vector<std::string> warned_;
};

}  // namespace blksweep
