// Recording traces: every request of a disk, or every read of files by a command and what it
// starts.
//
// Output:  a trace file (trace_output.h), new. Losses are in its facts, and warned of.
// Threads: record_files() from the only thread of the process (os/process/foreground.h).
// Errors:  unsupported without BPF; usage for a file that is there; as run_in_foreground().
// Source:  docs/traces.md says what is seen, and what cannot be.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "os/block/blockdev.h"
#include "os/process/foreground.h"
#include "trace/trace_record.h"

namespace blksweep {

struct RecordReport {
  TraceFacts facts;
  std::uint64_t records = 0, places = 0;
  std::uint64_t left_out = 0;  // reads of files that were not asked for
  int status = 0;              // of the command
};

struct DeviceRecording {
  BlockDevice device;
  std::string output;
  Nanos time{0};  // 0: until `stop`
  Bytes ring{std::uint64_t{64} << 20};
};
Result<RecordReport> record_device(const DeviceRecording& settings, const std::atomic<bool>& stop);

struct FileRecording {
  std::vector<std::string> command;
  std::string output;
  std::string data;  // only files below it; empty: all but those of the system
  Bytes ring{std::uint64_t{64} << 20};
};
Result<RecordReport> record_files(const FileRecording& settings, const HeldSignals& signals);

}  // namespace blksweep
