// A replay as a row of the database.
//
// Threads: pure but for what it asks of the host.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "replay/replay.h"
#include "store/records.h"

namespace blksweep {

struct ReplayOrigin {
  std::string trace;  // the file as given
  TraceKind kind = TraceKind::block;
  std::int64_t started_unix_ns = 0;
  std::vector<std::string> argv;
  std::string key;  // replay_key.h; empty: it is not stored
};

ReplayRow replay_row(const ReplayOrigin& origin, const ReplaySettings& settings,
                     const ReplayReport& report);

}  // namespace blksweep
