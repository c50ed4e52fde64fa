// Tables of what stands in a results database beside runs: latency maps, replays, traces.
#pragma once

namespace blksweep {

extern const char* const kMapTables;
extern const char* const kReplayTables;
extern const char* const kRequestTables;
extern const char* const kTraceTables;

}  // namespace blksweep
