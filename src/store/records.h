// What a run leaves behind, as plain values: the contract between experiment/ (fills), store/
// (writes) and the figures (read). Column by column documentation: docs/results-schema.md.
//
// Units:   every field's name carries it; times are integer nanoseconds of CLOCK_MONOTONIC.
// Unknown: std::nullopt becomes NULL, never 0.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/batch_times.h"
#include "base/device_span.h"
#include "model/latency_map.h"
#include "store/account_records.h"
#include "store/cache_records.h"
#include "store/maybe.h"
#include "store/request_records.h"

namespace blksweep {

// One combination of settings, as ordered key/value text ("order" -> "lba"); the words are those of
// the command line. Two cells are the same cell when all pairs are equal.
struct CellRecord {
  std::vector<std::pair<std::string, std::string>> settings;
};

// One fact of a disk or of what it stands on, in the kernel's words (os/block/layer_facts.h).
struct LayerFactRecord {
  std::string disk, name, value;  // "loop0", "direct_io", "1"
  bool operator==(const LayerFactRecord&) const = default;
};

// Facts of the node that all runs of an experiment share.
struct HostRecord {
  std::string kernel, cpu, hostname;
  std::uint32_t cpus = 0;
  std::uint64_t memory_bytes = 0;
  std::string device, device_model, filesystem, mount_options, scheduler;
  std::string device_label;  // --disk-label; empty: disk_label() makes one (store/summary/labels.h)
  std::vector<std::pair<std::string, std::string>> queue;  // /sys/block/*/queue/ name -> value
  std::vector<LayerFactRecord> layers;  // of the device and what it stands on, top down
  Maybe<bool> rotational;
  std::string cgroup;
  std::string gpu;  // empty: none
  std::string tool_version, git_revision, argv;
};

// What somebody typed to make the runs of a session: enough to type it again elsewhere.
struct CommandRecord {
  std::string argv;                             // words as a shell takes them
  Maybe<std::string> directory = std::nullopt;  // that its relative paths are in
  Maybe<std::string> data_root = std::nullopt;  // folder of the data set, absolute
  Maybe<std::string> catalog = std::nullopt;    // file, absolute; NULL: the folder was scanned
  Maybe<std::string> spec_name = std::nullopt;  // of the experiment file; NULL: there was none
  Maybe<std::string> spec = std::nullopt;       // its text
};

// One start of the program for an experiment. The order of cells in its rounds is drawn from the
// experiment's seed and started_unix_ns: anew in every session, and yet it can be drawn again.
struct SessionRecord {
  std::int64_t id = 0;
  std::int64_t started_unix_ns = 0;
};

// How `--repeats auto` decides about more rounds, and what came of it in a session.
struct StoppingRecord {
  double precision = 0;  // half-width that was asked of every interval, relative: 0.02
  std::uint32_t pilot = 0, repeats_max = 0;
  Maybe<std::int64_t> time_limit_ns;
  std::uint32_t rounds = 0;     // that count, those of earlier sessions included
  std::uint32_t intervals = 0;  // that are looked at
  std::uint32_t reached = 0;    // of them: narrow enough
  Maybe<double> half_width;     // of the widest; NULL: too few pairs
  std::string widest;           // what that is an interval of
  // Why no further round: "precision", "repeats-max", "time-limit", "no-pairs", "fio-clock",
  // "interrupted", "gpu-lost"; NULL: cut off.
  Maybe<std::string> reason;
};

// The best that the device gave for the data set's own extents, measured once in a round of
// repeats.
struct CeilingRecord {
  std::uint32_t round = 0;  // the repeat that it was measured among
  std::int64_t started_unix_ns = 0;
  std::string kind;                 // "sequential" | "random"
  std::uint64_t request_bytes = 0;  // of the longest read
  std::uint32_t depth = 0;
  std::uint64_t bytes = 0, reads = 0;
  std::int64_t elapsed_ns = 0;
  double bytes_per_s = 0;  // of the device
  double reads_per_s = 0;
  Maybe<double> samples_per_byte;  // bytes of samples that a byte read here stands for
};

struct BatchRecord {
  std::uint32_t samples = 0;
  std::uint64_t bytes = 0;             // as they are stored
  Maybe<std::uint64_t> decoded_bytes;  // NULL: samples came as they are stored
  BatchTimes times;                    // of a batch that was consumed: at least its read
  bool operator==(const BatchRecord&) const = default;
};

struct DepthPoint {
  std::int64_t at_ns = 0;
  std::uint32_t driver = 0;     // issued, not completed
  std::uint32_t scheduler = 0;  // inserted, not issued
};

struct GpuPoint {  // what NVML said of the GPU at that moment
  std::int64_t at_ns = 0;
  Maybe<std::uint32_t> utilisation, memory_utilisation;  // percent of NVML's own sampling period
  Maybe<std::uint64_t> memory_used_bytes;
  Maybe<std::uint32_t> clock_mhz;
  Maybe<std::uint64_t> throttle_reasons;  // NVML's bits
};

struct ProbeRecord {
  std::uint64_t requests = 0, bytes = 0;
  Maybe<std::uint64_t> plug_merges, scheduler_merges, requeues;  // NULL: the kernel lets none count
  Maybe<std::uint64_t> splits;              // of reads too long for one request; likewise
  Maybe<std::uint64_t> punted;              // requests of our rings that went to a worker; likewise
  std::uint64_t healed = 0, healed_ns = 0;  // completions that never came; at most so long together
  std::uint64_t lost_events = 0;
  Maybe<double> depth_mean;       // driver depth, mean over time; NULL: lost completions hide it
  Maybe<double> stat_difference;  // |probe - /sys/block/*/stat| / stat, requests
  // Of the requests seen: the share of bytes of those that begin where the plan has a read, and the
  // rank correlation of when they were issued with the plan's order. NULL: no addresses, several
  // epochs, too few.
  Maybe<double> in_plan, plan_order;
  std::vector<OrderRecord> order;        // by layer, from above; those that are known
  Maybe<AttributionRecord> attribution;  // NULL: origins were not followed, or not all were seen
  Histogram depth, request_bytes, latency_ns;
  std::vector<DepthPoint> series;
  std::vector<IssuePoint> issues;
  std::vector<IssuePoint> queued,
      inserted;  // empty: layers were not followed, or nothing was there
  // Not stored; what `attribution` is made of: whether issues have origins, and those a process;
  // which of these is this program.
  bool origins = false, makers = false;
  std::uint32_t self = 0;
  OtherRequests others;
};

// The same reads by the real fio, beside a run (docs/fio-twin.md).
struct FioRecord {
  std::string arm;  // "grouped": submitted in the run's groups; "plain": one by one, fio's default
  std::string version, command, job;
  std::uint32_t position = 0;     // among the run and its twins, from 0
  Maybe<double> resident_before;  // share of the data in the page cache when fio began
  std::uint64_t read_bytes = 0, planned_bytes = 0;  // that fio read; that the plan has
  double bytes_per_s = 0;  // of the run's delivered bytes: run.bytes / time
  double reads_per_s = 0;
  std::int64_t runtime_ns = 0;
  std::int64_t cpu_ns = 0;
  // At the device within fio's clock, from /sys/block/*/stat, as RunRecord::device_reads is.
  Maybe<std::uint64_t> requests, device_bytes;
  Maybe<std::uint64_t> probe_requests;  // by the probe, from before fio starts until it ends
  std::string requests_reason;          // why `requests` are not those of the run; empty: they are
  Maybe<double> ratio;                  // ours / fio, in bytes per second of the same bytes
  std::string ratio_reason;             // why there is none
};

// What a model of the disk says of the same plan (docs/simulate.md).
struct PredictionRecord {
  std::string model, model_hash;  // name; XXH3-64 of the model's text, hex
  std::int64_t epoch_ns = 0;
  Maybe<std::int64_t> first_batch_ns = std::nullopt;
  std::uint64_t requests = 0;  // after merging
  Maybe<double> depth_mean = std::nullopt;
  Maybe<double> error = std::nullopt;  // predicted / measured - 1, of epoch_ns
};

// What took time from a run, between its begin and its end; NULL: the kernel does not tell.
struct NoiseRecord {
  Maybe<std::int64_t> steal_ns;  // by the hypervisor, all CPUs together
  // Some task of this node waited: for a CPU, for I/O, for memory.
  Maybe<std::int64_t> cpu_pressure_ns, io_pressure_ns, memory_pressure_ns;
  Maybe<std::int64_t> throttled_ns;  // our cgroup was held by its CPU quota
  Maybe<std::uint64_t> thermal_throttles;
  Maybe<std::uint64_t> cpu_khz;  // mean over the CPUs, at the end
  // Fixed work of this process before and after the run, outside the epoch.
  Maybe<std::int64_t> spin_before_wall_ns, spin_before_cpu_ns;
  Maybe<std::int64_t> spin_after_wall_ns, spin_after_cpu_ns;
};

struct QualityRecord {  // 0: none, 1: as good as a full permutation (docs/measurement.md)
  Maybe<double> displacement, rank_decorrelation, neighbours_broken, label_mix;
  Maybe<double> rank_decorrelation_vs_read;  // the same against the order of reading
};

// One setting of the node that a run asked for (docs/node.md). Values in the words of the kernel.
struct NodeSettingRecord {
  std::string name;    // "scheduler", "memory-limit"
  std::string asked;   // as written to the kernel
  std::string got;     // what the kernel read back
  std::string before;  // empty: there was none
};

// What the run's own cgroup saw between the first read and the last batch; only with a limit.
struct LimitUseRecord {
  std::uint64_t cache_peak_bytes = 0;      // page cache charged to it, greatest of the samples
  Maybe<std::uint64_t> memory_peak_bytes;  // of everything charged to it, by the kernel
  Maybe<std::uint64_t> limit_hits;         // times that the memory limit made somebody reclaim
};

struct FailedSample {
  std::string path;
  std::string error;
};

// What the engine counted of itself; NULL: another engine's, or a peer.
struct EngineCountsRecord {
  Maybe<std::int64_t> submit_ns, submit_blocked_ns;  // libaio: in io_submit; of it without the CPU
  Maybe<std::uint64_t> minor_faults, major_faults;   // mmap
  Maybe<std::uint64_t> answered_at_once;             // nowait: reads that did not wait
  Maybe<std::uint64_t> hinted_bytes;                 // hint: that the kernel was told of
};

// Of a peer that decodes: threads or processes that do, the share of the epoch in which its
// consumer waited for them, XXH3-64 of the decoded samples that were hashed, hex.
struct DecodeRecord {
  Maybe<std::uint32_t> decoders;
  Maybe<double> wait;
  Maybe<std::string> hash;
};

struct RunRecord {
  Maybe<std::int64_t> session_id;  // the start of the program that made it; NULL: unknown
  std::uint32_t repeat = 0;
  std::uint64_t seed = 0;
  std::int64_t started_unix_ns = 0;  // CLOCK_REALTIME, for people
  std::int64_t begin_ns = 0;         // CLOCK_MONOTONIC at the start of the epoch
  std::int64_t epoch_ns = 0, plan_ns = 0;
  Maybe<std::int64_t> first_batch_ns;
  // Of a peer: from its start until it was ready for the epoch; what it read: "files", "own form".
  Maybe<std::int64_t> startup_ns;
  Maybe<std::string> peer_reads;
  DecodeRecord decode;
  std::uint64_t samples = 0, missing_samples = 0, bytes = 0;
  Maybe<std::uint64_t> wrong_samples;  // NULL: not verified
  // NULL: of a peer, which cannot know them. So are those of memory and groups below.
  Maybe<std::uint64_t> reads_submitted = 0, read_bytes = 0, gap_bytes = 0;
  Maybe<std::uint64_t> seeks;  // NULL: some address is not known
  Maybe<std::uint64_t> io_errors = 0, short_reads = 0, device_fallbacks = 0;
  Maybe<std::uint64_t> staged_reads = 0;            // of small pieces, copied to their places
  Maybe<std::uint64_t> device_bytes, device_reads;  // from /sys/block/*/stat
  // Of the disk's reads: those of this process, from /proc/self/io; what is left, of all others.
  Maybe<std::uint64_t> own_read_bytes, others_read_bytes;
  Maybe<std::uint64_t> device_bytes_expected;  // at least, of a cold run; NULL: not cold
  Maybe<std::uint64_t> inodes_held;  // files that other processes hold open; NULL: not looked
  std::int64_t cpu_ns = 0;
  Maybe<double> resident_before, resident_after;  // share of the data in the page cache
  Maybe<double> utilisation;                      // compute / wall; NULL without a consumer
  // How its addresses are known to be true: "watched" (the same before and after, and nobody had a
  // file open for writing meanwhile), "compared" (before and after), "changed"; NULL: it has none.
  Maybe<std::string> addresses;
  Maybe<std::string> layout;  // XXH3-64 of all extents, hex
  Maybe<std::int64_t> address_check_ns;
  // Delivered bytes hashed and compared with their files; NULL: not done.
  Maybe<std::uint64_t> checked_pieces, checked_bytes, checked_wrong;
  Maybe<std::uint64_t> window_peak_bytes = 0, arena_bytes = 0;
  Maybe<std::uint32_t> refill = 0;         // reads that completed before more were submitted
  Maybe<std::uint32_t> submit_batch;       // merge=kernel: reads that were handed over together
  Maybe<std::uint64_t> horizon_bytes = 0;  // merge=device: most bytes that were sorted together
  Maybe<std::uint64_t> groups_cut = 0;  // submissions that ended early because memory was not free
  Maybe<std::uint32_t> pair_position;   // among the run and its twins, from 0; NULL: no twin
  std::string engine_features, engine_refused;
  EngineCountsRecord engine;
  std::string emission_hash;  // XXH3-128 of the emitted sample numbers, hex
  QualityRecord quality;
  Histogram read_latency_ns;
  std::vector<BatchRecord> batches;
  std::vector<GpuPoint> gpu;  // empty: no GPU in this run, or none that NVML knows
  std::vector<MemoryWait> read_waits;
  Maybe<AccountRecord> account;
  Maybe<CopyCostRecord> copy_cost;        // NULL: no copy stage
  Maybe<OverlapRecord> overlap;           // NULL: neither copy stage nor consumer
  DeviceWork device_work;                 // what it was made of
  Maybe<DeviceClockRecord> device_clock;  // NULL: no other clock
  Maybe<AcceleratorRecord> accelerator;   // NULL: no GPU in this run
  Maybe<ProbeRecord> probe;
  Maybe<CacheRecord> page_cache;  // NULL: nobody looked (--probe-cache)
  Maybe<FioRecord> fio, fio_plain;
  Maybe<PredictionRecord> prediction;
  std::vector<NodeSettingRecord> node;
  Maybe<LimitUseRecord> limit_use;
  Maybe<NoiseRecord> noise;
  std::vector<FailedSample> failed;
  std::vector<std::string> warnings;
  bool incomplete = false;
  std::string incomplete_reason;
};

// A point of a curve that was derived from a map (docs/latency-map.md).
struct MapCurvePoint {
  std::string kind;  // "seek_forward", "seek_backward": bytes -> ns; "zone_rate": offset -> bytes/s
  double x = 0, y = 0;
};

// Of a distribution or a series.
struct CurvePoint {
  std::string kind;  // docs/results-schema.md
  double x = 0, y = 0;
};

// A replay with what its certificate says (docs/replay.md); times in ns.
struct ReplayRow {
  std::string trace, trace_kind, target, disk, timing, addresses, verdict, reason;
  std::string key;     // of replays that are the same (cli/replay/replay_key.h)
  std::string shared;  // who else used the disk, as a line; empty: nobody notable
  double speed = 1, depth_mean = 0;
  std::uint64_t depth = 0, requests = 0, bytes = 0, writes = 0, left_out = 0, failed = 0;
  std::int64_t length_ns = 0;
  std::int64_t late_p50_ns = 0, late_p99_ns = 0, late_p999_ns = 0, late_max_ns = 0;
  std::int64_t tool_p50_ns = 0, tool_p99_ns = 0, tool_p999_ns = 0, tool_max_ns = 0;
  std::int64_t device_p99_ns = 0;
  std::string fio_version;                     // empty: no replay of fio beside it
  Maybe<std::int64_t> fio_p50_ns, fio_p99_ns;  // at the driver
  std::string document;                        // the JSON of `replay --json`
  std::int64_t started_unix_ns = 0;
  bool interrupted = false;
  std::string hostname, kernel, tool_version, git_revision, argv;
  std::vector<CurvePoint> curves;
};

// What a trace is like (docs/traces.md), and some of its accesses.
struct TraceAccess {
  std::int64_t time_ns = 0;
  std::uint64_t address = 0, bytes = 0;  // volumes, or files, one behind the other
  std::string op;
};
struct TraceRow {
  std::string trace, trace_kind;
  std::uint64_t requests = 0, reads = 0, footprint_bytes = 0;
  std::int64_t duration_ns = 0;
  Maybe<double> gap_variation, sequential;
  double miss_ratio_error = 0;
  std::string timing;    // measured | synthetic
  std::string document;  // the JSON of `trace stat --json`
  std::int64_t started_unix_ns = 0;
  std::string hostname, kernel, tool_version, git_revision, argv;
  std::vector<CurvePoint> curves;  // rate | depth | misses
  std::vector<TraceAccess> accesses;
};

struct MapRecord {
  LatencyMap map;
  double seconds = 0;  // that were asked for
  std::string hostname, tool_version, git_revision, argv;
  std::vector<std::string> warnings;
  Maybe<double> path_ns, rotation_ns;  // NULL: not determined
  std::vector<MapCurvePoint> curves;
};

}  // namespace blksweep
