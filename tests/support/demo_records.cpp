#include "support/demo_records.h"

namespace blksweep {

HostRecord demo_host() {
  HostRecord h;
  h.kernel = "6.12.1";
  h.cpu = "Example CPU";
  h.hostname = "node1";
  h.cpus = 8;
  h.memory_bytes = std::uint64_t{64} << 30;
  h.device = "loop0";
  h.device_model = "loop";
  h.filesystem = "ext4";
  h.mount_options = "rw,relatime";
  h.scheduler = "none";
  h.queue = {{"nr_requests", "128"}, {"scheduler", "[none] mq-deadline"}};
  h.layers = {{"loop0", "kind", "loop"}, {"loop0", "direct_io", "1"}, {"vda", "model", "Disk"}};
  h.rotational = false;
  h.cgroup = "/";
  h.tool_version = "0.1.0";
  h.git_revision = "abc";
  h.argv = "blksweep run --data d";
  return h;
}

CellRecord demo_cell(const std::string& order, const std::string& merge) {
  return {{{"order", order}, {"merge", merge}, {"depth", "128"}, {"window_bytes", "67108864"}}};
}

ProbeRecord demo_probe() {
  ProbeRecord p;
  p.requests = 100;
  p.bytes = 409600;
  p.plug_merges = 7;
  p.scheduler_merges = 3;
  p.requeues = 4;
  p.punted = 5;
  p.healed = 2;
  p.healed_ns = 90'000;
  p.lost_events = 1;
  p.depth_mean = 31.5;
  p.stat_difference = 0.001;
  p.in_plan = 0.97;
  p.plan_order = 0.99;
  p.splits = 6;
  OrderRecord order{.layer = "queue",
                    .reads = 98,
                    .kept = 0.96,
                    .tau = 0.9,
                    .inversions = 17,
                    .reversed = 0.25,
                    .reversed_run = 32,
                    .batches = 12,
                    .batches_reversed = 3,
                    .displaced_p50 = 1,
                    .displaced_p99 = 31,
                    .displaced_max = 40,
                    .verdict = "the order reached the block layer",
                    .displaced = {{0, 50}, {31, 48}}};
  p.order.push_back(order);
  order.layer = "issue";
  order.reversed_run.reset();
  p.order.push_back(order);
  p.attribution = AttributionRecord{
      .classes = {{"samples", 90, 360448},
                  {"other", std::nullopt, std::nullopt},
                  {"elsewhere", 1, 4096}},
      .paths = {{"file", "a/b", 12, 49152, 80'000.5}, {"folder", "a", 13, 53248, std::nullopt}},
      .extents = {{"a/b", 4096, std::uint64_t{1} << 40, 65536, 12, 49152, 80'000.5}},
      .latency = {{4096, 65536, 70}, {131072, 81920, 20}}};
  p.depth = {{1, 10}, {32, 90}};
  p.request_bytes = {{4096, 60}, {131072, 40}};
  p.latency_ns = {{65536, 100}};
  p.series = {{1000, 12, 3}, {1001000, 14, 0}};
  p.issues = {{1000, 0xFFFFFFFFFFULL, 4096}, {2000, 8, 131072, 70'000}};
  p.queued = {{900, 8, 131072}};
  return p;
}

CacheRecord demo_page_cache() {
  return {.hit_share = 0.5,
          .wanted_bytes = 8192,
          .added_bytes = 40960,
          .unwanted_bytes = 32768,
          .again_bytes = 4096,
          .evicted_bytes = 12288,
          .inodes_loaded = 7,
          .inodes_evicted = 0,
          .dentries_loaded = 9,
          .shrinker_freed = 11,
          .readahead_sync = 3,
          .readahead_async = 2,
          .readahead_windows = 4,
          .readahead_bytes = 65536,
          .reclaims = 2,
          .reclaimed_bytes = 20480,
          .reclaim_ns = 77'000,
          .kswapd_wakes = std::nullopt,
          .lost_events = 1,
          .series = {{1000, 4096, 4096, 0, 0}, {2000, 40960, 8192, 4096, 12288, 7, 0, 11}},
          .files = {{"b/worst", 4096, 36864, 32768, 0}, {"a/again", 4096, 4096, 0, 4096}}};
}

void fill_counts(RunRecord& r) {
  r.samples = 20000;
  r.missing_samples = 1;
  r.bytes = std::uint64_t{20000} * 24576;
  r.wrong_samples = 0;
  r.reads_submitted = 20000;
  r.read_bytes = r.bytes + 4096;
  r.gap_bytes = 4096;
  r.seeks = 19000;
  r.io_errors = 1;
  r.short_reads = 2;
  r.device_fallbacks = 3;
  r.device_bytes = r.bytes + 8192;
  r.own_read_bytes = r.bytes + 4096;
  r.others_read_bytes = 4096;
  r.device_reads = 100;
  r.window_peak_bytes = 1 << 26;
  r.arena_bytes = 1 << 27;
}

RunRecord demo_run(std::uint32_t repeat) {
  RunRecord r;
  r.repeat = repeat;
  r.seed = 0xFFFFFFFFFFFFFFFFULL;  // all 64 bits
  r.started_unix_ns = 1'700'000'000'000'000'000;
  r.begin_ns = 5'000'000'000;
  r.epoch_ns = 2'000'000'000 + std::int64_t{repeat} * 10'000'000;
  r.plan_ns = 3'000'000;
  r.first_batch_ns = 40'000'000;
  fill_counts(r);
  r.cpu_ns = 90'000'000;
  r.resident_before = 0.0;
  r.resident_after = 0.25;
  r.utilisation = 0.5;
  r.engine_features = "defer_taskrun fixed_files";
  r.engine_refused = "iopoll: no poll queues";
  r.engine = {1'000, 500, 7, 8, 9, 10};
  r.emission_hash = "00112233445566778899aabbccddeeff";
  r.quality = {0.9, 0.95, 0.99, 0.8, 0.7};
  r.read_latency_ns = {{1024, 5}, {2048, 7}};
  BatchTimes first, last;
  first[Stage::read] = without_wait({10, 20});
  first[Stage::copy] = {{21, 22}, 20};
  first[Stage::compute] = without_wait({23, 24});
  first.consumed = 25;
  last[Stage::read] = without_wait({30, 40});
  last.consumed = 45;
  r.batches = {{256, 1 << 20, 1 << 21, first}, {44, 1 << 18, {}, last}};
  r.probe = demo_probe();
  r.page_cache = demo_page_cache();
  r.prediction =
      PredictionRecord{"hdd-7200", "0123456789abcdef", 2'000'000'000, 20'000'000, 4096, 31.5, -0.2};
  FioRecord fio;
  fio.arm = "grouped";
  fio.version = "fio-3.33";
  fio.command = "fio job";
  fio.job = "[twin]";
  fio.position = 1;
  fio.resident_before = 0;
  fio.read_bytes = fio.planned_bytes = 300'000'000;
  fio.bytes_per_s = 1e8;
  fio.reads_per_s = 1e4;
  fio.runtime_ns = 2'500'000'000;
  fio.cpu_ns = 100'000'000;
  fio.requests = 400;
  fio.device_bytes = 300'000'000;
  fio.probe_requests = 420;
  fio.ratio = 1.25;
  r.fio = fio;
  fio.arm = "plain";
  fio.position = 2;
  fio.requests = 6000;
  fio.requests_reason = "one at a time";
  fio.ratio = std::nullopt;
  fio.ratio_reason = "a reason";
  r.fio_plain = fio;
  r.refill = 32;
  r.submit_batch = 64;
  r.horizon_bytes = 4 << 20;
  r.groups_cut = 3;
  r.pair_position = 0;
  r.failed = {{"a/b", "Input/output error"}};
  r.warnings = {"scheduler of loop0 is none; nothing follows", "second"};
  return r;
}

}  // namespace blksweep
