// replay: issues the reads of a trace again, on a block device or below a folder, and certifies how
// true that was. Reads only, unless `writes` is given: else writes are left out and counted;
// discards and flushes always.
//
// original:  each at its recorded time (open loop), over `speed`.
// asap:      the next one whenever fewer than `depth` are in flight.
// dependent: each recorded thread by its think times (orders.h).
//
// Target:    a device is opened O_RDONLY with O_DIRECT (for writes: overwrite.h); files O_RDONLY,
//            direct unless `buffered`. Alignment of direct reads rounds outwards.
// fio:       its replay comes after ours, and the block layer tells the issue times of both.
// Others:    who else used the disk meanwhile is counted (neighbours.h), and told in `shared`.
// Caches:    left as they are: the caller drops them.
// CPU:       one thread spins (spin.h), one decodes ahead.
// Errors:    usage for a trace that does not tell what a timing needs, and for what is no target;
//            unsupported without io_uring. Reads that fail are counted.
// Stop:      ends early; what was issued is reported, and `interrupted` says so.
// Threads:   the caller's, which must not be used for another ring at the time.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "io/engine.h"
#include "replay/addresses.h"
#include "replay/certificate.h"
#include "replay/fio_beside.h"
#include "replay/survey.h"
#include "trace/trace_file.h"

namespace blksweep {

enum class Timing : std::uint8_t { original, asap, dependent };
Result<Timing> parse_timing(std::string_view text);
std::string_view to_string(Timing timing);

struct ReplaySettings {
  std::string device;  // node of a block device (block traces), or
  std::string folder;  // of the files (file traces)
  std::string writes;  // the device once more: writes are carried out, and its content is lost
  Timing timing = Timing::original;
  AddressMode addresses = AddressMode::as_is;
  double speed = 1;
  unsigned depth = 0;  // 0: as the device's queue has it
  bool buffered = false;
  bool awake = false;                // no CPU enters an idle state meanwhile (os/cpu_awake.h)
  std::int64_t spin_ns = 1'000'000;  // it sleeps only while the next due time is further ahead
  bool fio = false;  // fio's replay of the same reads afterwards (a device, original timing)
  std::uint64_t timeline = 0;  // of so many requests, the first ones, the times of each
  std::atomic<std::uint64_t>* progress = nullptr;  // completed
};

struct ReplayReport {
  Certificate certificate;
  LeftOut left_out;
  std::uint64_t requests = 0, bytes = 0, short_reads = 0;
  std::uint64_t writes = 0;   // of the requests
  std::uint64_t rounded = 0;  // direct reads that are longer than recorded
  unsigned depth = 0;
  std::uint32_t threads = 0;
  bool interrupted = false;
  std::string disk;  // name under /sys/block; empty: not known
  EngineFacts engine;
  LogHistogram lateness, tool_lateness, latency, recorded_latency;
  std::vector<RateStep> rate;
  std::vector<RequestTimes> timeline;       // where asked for, by number
  std::optional<DriverLateness> at_driver;  // with fio: ours, as the block layer has it
  std::optional<FioReplay> fio;
  std::optional<std::uint64_t> own_read_bytes;  // that this process made disks read
  std::optional<std::uint64_t> others_read_bytes, others_written_bytes;  // while we replayed
  std::string shared;  // why the times are those of a shared disk, too; empty: they are not
  std::vector<std::string> warnings;
};

// Usage errors of replay(); nothing is issued.
Result<> check_replay(const TraceReader& trace, const TraceSurvey& found,
                      const ReplaySettings& settings);

// `found`: survey() of this trace, which is at its first record.
Result<ReplayReport> replay(TraceReader& trace, const TraceSurvey& found,
                            const ReplaySettings& settings, const std::atomic<bool>& stop);

}  // namespace blksweep
