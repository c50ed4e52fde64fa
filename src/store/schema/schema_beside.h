// Tables of what stands in a results database beside runs (latency maps, replays, traces), and of
// what a probe says of a run.
#pragma once

namespace blksweep {

extern const char* const kCacheTables;
extern const char* const kMapTables;
extern const char* const kRanksTables;
extern const char* const kReplayTables;
extern const char* const kRequestTables;
extern const char* const kTraceTables;

}  // namespace blksweep
