// What a database has beside runs, as text; as JSON each has its own header.
#pragma once

#include <string>
#include <vector>

#include "cli/report/maps.h"
#include "cli/report/ranks.h"
#include "cli/report/replays.h"
#include "cli/report/traces.h"
#include "store/result_reader.h"

namespace blksweep {

struct Others {
  std::vector<StoredMap> maps;
  std::vector<StoredReplay> replays;
  std::vector<StoredTrace> traces;
  std::vector<StoredRanks> ranks;
  bool runs = false;  // has it those, too
  bool alone() const {
    return !runs && !(maps.empty() && replays.empty() && traces.empty() && ranks.empty());
  }
};

Result<Others> load_others(ResultReader& reader);
std::string others_text(const Others& others);

}  // namespace blksweep
