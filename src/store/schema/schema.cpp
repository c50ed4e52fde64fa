#include "store/schema/schema.h"

#include <fmt/format.h>

#include <string>

#include "store/schema/schema_beside.h"
#include "store/schema/wide_view.h"

namespace blksweep {
namespace {

// Comments stay in the database: `sqlite3 results.db .schema` shows them.
constexpr const char* kExperimentTables = R"sql(
CREATE TABLE experiment (           -- one set of cells on one node under one set of facts
  experiment_id   INTEGER PRIMARY KEY,
  key             TEXT NOT NULL,    -- says which sweep; the same key and facts go on where it stopped
  facts_hash      TEXT NOT NULL,    -- XXH3-64 of what must be equal to go on, hex
  started_unix_ns INTEGER NOT NULL, -- CLOCK_REALTIME
  kernel TEXT NOT NULL, cpu TEXT NOT NULL, hostname TEXT NOT NULL,
  cpus            INTEGER NOT NULL,
  memory_bytes    INTEGER NOT NULL,
  device TEXT NOT NULL, device_model TEXT NOT NULL, filesystem TEXT NOT NULL,
  mount_options TEXT NOT NULL, scheduler TEXT NOT NULL,
  rotational      INTEGER,          -- 0, 1; NULL: unknown
  cgroup TEXT NOT NULL,
  gpu             TEXT NOT NULL,    -- empty: none
  tool_version TEXT NOT NULL, git_revision TEXT NOT NULL, argv TEXT NOT NULL
) STRICT;
CREATE TABLE queue_setting (        -- /sys/block/*/queue/ when the experiment began
  experiment_id INTEGER NOT NULL REFERENCES experiment,
  name TEXT NOT NULL, value TEXT NOT NULL
) STRICT;
CREATE TABLE layer_fact (           -- the device and what it stands on, when the experiment began
  experiment_id INTEGER NOT NULL REFERENCES experiment,
  position INTEGER NOT NULL,        -- from 0, top down
  disk TEXT NOT NULL,               -- name below /sys/block
  name TEXT NOT NULL, value TEXT NOT NULL,
  PRIMARY KEY (experiment_id, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE ceiling (              -- the best that the device gave for the data's own extents
  experiment_id INTEGER NOT NULL REFERENCES experiment,
  round         INTEGER NOT NULL,   -- repeat of the runs that it was measured among, from 0
  started_unix_ns INTEGER NOT NULL, -- CLOCK_REALTIME
  kind          TEXT NOT NULL,      -- sequential | random
  request_bytes INTEGER NOT NULL,   -- of the longest read
  depth         INTEGER NOT NULL,   -- requests in flight
  bytes         INTEGER NOT NULL,   -- read
  reads         INTEGER NOT NULL,
  elapsed_ns    INTEGER NOT NULL,   -- CLOCK_MONOTONIC, first submission to last completion
  bytes_per_s   REAL NOT NULL,
  reads_per_s   REAL NOT NULL,
  samples_per_byte REAL             -- bytes of samples that a byte read here stands for (holes, blocks that are
                                    -- not full); NULL: not known, parts of the data have no address
) STRICT;
CREATE TABLE cell (                 -- one combination of settings
  cell_id       INTEGER PRIMARY KEY,
  experiment_id INTEGER NOT NULL REFERENCES experiment,
  settings_hash TEXT NOT NULL,      -- XXH3-64 of the pairs, hex
  UNIQUE (experiment_id, settings_hash)
) STRICT;
CREATE TABLE cell_setting (
  cell_id  INTEGER NOT NULL REFERENCES cell,
  position INTEGER NOT NULL,        -- order of the settings, from 0
  name TEXT NOT NULL, value TEXT NOT NULL,
  PRIMARY KEY (cell_id, position)
) STRICT, WITHOUT ROWID;
)sql";

constexpr const char* kRunTables = R"sql(
CREATE TABLE session (              -- one start of the program for an experiment
  session_id      INTEGER PRIMARY KEY,
  experiment_id   INTEGER NOT NULL REFERENCES experiment,
  started_unix_ns INTEGER NOT NULL, -- CLOCK_REALTIME; with the seed it decides the order in rounds
  argv            TEXT NOT NULL,    -- words as a shell takes them
  directory       TEXT,             -- that relative paths are in; NULL: unknown, as below
  data_root       TEXT,             -- folder of the data set
  catalog         TEXT,             -- file; NULL: the folder was scanned
  spec_name TEXT, spec TEXT         -- the experiment file and its text; NULL: there was none
) STRICT;
CREATE TABLE stopping (             -- of --repeats auto; no row: the session's repeats were a number
  session_id    INTEGER PRIMARY KEY REFERENCES session,
  precision     REAL NOT NULL,      -- half-width that was asked of every interval, relative
  pilot         INTEGER NOT NULL,   -- rounds before the first decision
  repeats_max   INTEGER NOT NULL,
  time_limit_ns INTEGER,            -- of the session; NULL: none
  rounds        INTEGER NOT NULL,   -- that count, those of earlier sessions included
  intervals     INTEGER NOT NULL,   -- that are looked at
  reached       INTEGER NOT NULL,   -- of them: narrow enough
  half_width    REAL,               -- of the widest; NULL: too few pairs
  widest        TEXT NOT NULL,      -- what that is an interval of
  reason        TEXT                -- precision | repeats-max | time-limit | no-pairs | fio-clock |
                                    -- interrupted | gpu-lost; NULL: cut off
) STRICT;
CREATE TABLE run (                  -- one execution of a cell; times are CLOCK_MONOTONIC
  run_id          INTEGER PRIMARY KEY,
  cell_id         INTEGER NOT NULL REFERENCES cell,
  session_id      INTEGER REFERENCES session, -- NULL: unknown; its runs are no pairs
  repeat          INTEGER NOT NULL, -- from 0: the round; runs of one round and session are pairs
  seed            TEXT NOT NULL,    -- unsigned 64 bit, decimal
  started_unix_ns INTEGER NOT NULL, -- CLOCK_REALTIME
  begin_ns INTEGER NOT NULL, epoch_ns INTEGER NOT NULL, plan_ns INTEGER NOT NULL,
  first_batch_ns  INTEGER,          -- since begin_ns; NULL: no batch was delivered
  startup_ns      INTEGER,          -- a peer's, before begin_ns; NULL: a run of our own
  peer_reads      TEXT,             -- files | own form; NULL: a run of our own
  decoders        INTEGER,          -- a peer's threads or processes that decode; NULL: it says nothing of it
  decode_wait     REAL,             -- share of the epoch in which its consumer waited for busy decoders
  decode_hash     TEXT,             -- XXH3-64 of what was decoded of the hashed samples, hex
  samples INTEGER NOT NULL, missing_samples INTEGER NOT NULL,
  wrong_samples   INTEGER,          -- NULL: not verified
  bytes           INTEGER NOT NULL, -- delivered
  reads_submitted INTEGER,          -- NULL here and below: a peer's, which cannot know
  read_bytes      INTEGER,          -- asked of the kernel, gaps and rounding included
  gap_bytes       INTEGER,          -- read but wanted by nobody
  seeks           INTEGER,          -- reads that do not begin where the one before ended; NULL: unknown
  io_errors INTEGER, short_reads INTEGER,
  device_fallbacks INTEGER,         -- samples that --merge device had to read through files
  staged_reads    INTEGER,          -- reads of small pieces, copied from a staging area to their places
  device_bytes    INTEGER,          -- the whole disk during the epoch, from /sys/block/*/stat
  device_reads    INTEGER,
  own_read_bytes  INTEGER,          -- that this process made block devices read, from /proc/self/io
  others_read_bytes INTEGER,        -- device_bytes without own_read_bytes; NULL: one is unknown
  device_bytes_expected INTEGER,    -- that only the device can give, of a cold run; NULL: not cold, unknown
  inodes_held     INTEGER,          -- files of a cold run that others held open; NULL: not looked
  cpu_ns          INTEGER NOT NULL, -- of the process during the epoch, user and system
  resident_before REAL,             -- share of the data in the page cache, 0..1; NULL: unknown
  resident_after  REAL,
  utilisation     REAL,             -- compute / wall, 0..1; NULL: no consumer
  addresses       TEXT,             -- watched | compared | changed; NULL: the run has none
  layout          TEXT,             -- XXH3-64 of all extents, hex
  address_check_ns INTEGER,         -- before and after the epoch
  checked_pieces INTEGER, checked_bytes INTEGER, checked_wrong INTEGER,  -- NULL: no check
  window_peak_bytes INTEGER, arena_bytes INTEGER,
  refill          INTEGER,          -- reads completed before more were submitted; NULL: workers, peers
  submit_batch    INTEGER,          -- merge=kernel: reads handed over together; NULL: other merges
  horizon_bytes   INTEGER,          -- merge=device: most bytes sorted together by address
  groups_cut      INTEGER,          -- submissions that ended early because no memory was free
  pair_position   INTEGER,          -- among the run and its fio twins, from 0; NULL: no twin
  engine_features TEXT NOT NULL, engine_refused TEXT NOT NULL,
  submit_ns INTEGER, submit_blocked_ns INTEGER,  -- libaio: in io_submit; of it without the CPU
  minor_faults INTEGER, major_faults INTEGER,    -- mmap: of the thread that copies
  answered_at_once INTEGER,         -- nowait: reads that the page cache had in full
  hinted_bytes    INTEGER,          -- hint: that the kernel was told of ahead
  emission_hash   TEXT NOT NULL,    -- XXH3-128 of the emitted sample numbers, hex
  quality_displacement REAL, quality_rank_decorrelation REAL,  -- 0 none .. 1 full permutation
  quality_neighbours_broken REAL, quality_label_mix REAL,
  quality_rank_decorrelation_vs_read REAL,
  incomplete      INTEGER NOT NULL, -- 1: figures leave this run out
  incomplete_reason TEXT NOT NULL
) STRICT;
CREATE INDEX run_of_cell ON run (cell_id, repeat);
CREATE TABLE batch (
  run_id   INTEGER NOT NULL REFERENCES run,
  position INTEGER NOT NULL,        -- from 0
  samples INTEGER NOT NULL, bytes INTEGER NOT NULL,
  decoded_bytes INTEGER,            -- NULL: samples came as they are stored
  consumed_ns INTEGER NOT NULL,     -- its memory may be used again; clock of batch_stage
  PRIMARY KEY (run_id, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE batch_stage (          -- times are CLOCK_MONOTONIC, as in run.begin_ns
  run_id   INTEGER NOT NULL REFERENCES run,
  position INTEGER NOT NULL,        -- of the batch
  stage    TEXT NOT NULL,           -- read | decode | copy | compute; of copy: transfer | blocked;
                                    -- behind it: release
  wait_ns  INTEGER NOT NULL,        -- until begin_ns only a slot of the stage's ring was missing
  begin_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL,
  PRIMARY KEY (run_id, position, stage)
) STRICT, WITHOUT ROWID;
CREATE TABLE histogram (
  run_id INTEGER NOT NULL REFERENCES run,
  kind   TEXT NOT NULL,     -- read_latency_ns | depth_requests | request_bytes | device_latency_ns
  lower  INTEGER NOT NULL,  -- least value of the bucket, in the unit of the kind
  count  INTEGER NOT NULL,
  PRIMARY KEY (run_id, kind, lower)
) STRICT, WITHOUT ROWID;
CREATE TABLE probe (                -- no row: the run had no probe
  run_id INTEGER PRIMARY KEY REFERENCES run,
  requests INTEGER NOT NULL, bytes INTEGER NOT NULL,
  plug_merges INTEGER, scheduler_merges INTEGER, requeues INTEGER, -- NULL: not counted here
  splits          INTEGER,          -- of reads too long for one request; NULL: not counted here
  punted          INTEGER,          -- by our rings, to a worker of io_uring; NULL: not counted here
  healed INTEGER NOT NULL,          -- completions that never came
  healed_ns INTEGER NOT NULL,       -- their requests were at the driver so long at most, summed
  lost_events INTEGER NOT NULL,
  depth_mean      REAL,             -- requests at the driver, mean over time with I/O; NULL:
                                    -- none, or healed_ns leaves it open by more than 5 %
  stat_difference REAL,             -- |requests - stat| / stat
  in_plan         REAL,             -- share of the bytes of requests that begin where the plan has a
                                    -- read; NULL: no addresses, several epochs, too few
  plan_order      REAL              -- rank correlation of when those were issued with the plan's order
) STRICT;
CREATE TABLE series (               -- packed little-endian records, see docs/results-schema.md
  run_id INTEGER NOT NULL REFERENCES run,
  kind   TEXT NOT NULL,             -- depth: i64 at_ns, u32 driver, u32 scheduler
                                    -- issue, queue, insert: i64 at_ns, u64 sector, u32 bytes, i64
                                    -- latency_ns, u32 read, u32 batch; greatest: unknown
                                    -- gpu: i64 at_ns, u32 utilisation, u32 memory_utilisation,
                                    -- u64 memory_used_bytes, u32 clock_mhz, u64 throttle_reasons;
                                    -- greatest: unknown
                                    -- page_cache: i64 at_ns, u64 added, wanted, again, evicted,
                                    -- inodes_loaded, inodes_evicted, shrinker_freed
                                    -- transfer: i64 begin_ns, i64 end_ns, u64 bytes, u32 batch,
                                    -- u32 lane; kernel: i64 begin_ns, i64 end_ns, i64 asked_ns,
                                    -- u32 batch
  records INTEGER NOT NULL,
  data   BLOB NOT NULL,
  PRIMARY KEY (run_id, kind)
) STRICT;
CREATE TABLE fio (                  -- the same reads by the real fio; no row: no such twin
  run_id INTEGER NOT NULL REFERENCES run,
  arm    TEXT NOT NULL,             -- grouped: submitted in the run's groups, from huge pages
                                    -- plain: one by one, as fio does by itself
  version TEXT NOT NULL, command TEXT NOT NULL, job TEXT NOT NULL,
  position        INTEGER NOT NULL, -- among the run and its twins, from 0
  resident_before REAL,             -- share of the data in the page cache when fio began, 0..1
  read_bytes INTEGER NOT NULL, planned_bytes INTEGER NOT NULL, -- by fio; in the plan
  bytes_per_s     REAL NOT NULL,    -- run.bytes / runtime_ns: of what the run delivered
  reads_per_s REAL NOT NULL,
  runtime_ns INTEGER NOT NULL, cpu_ns INTEGER NOT NULL,
  requests        INTEGER,          -- of the whole disk within fio's clock, from /sys/block/*/stat:
  device_bytes    INTEGER,          -- beside run.device_reads and run.device_bytes
  probe_requests  INTEGER,          -- by the probe, from before fio starts until it ends
  requests_reason TEXT NOT NULL,    -- why requests and run.device_reads differ by over 2 %, or empty
  ratio           REAL,             -- ours / fio, bytes per second of the same bytes
  ratio_reason    TEXT NOT NULL,    -- why ratio is NULL, or empty
  PRIMARY KEY (run_id, arm)
) STRICT, WITHOUT ROWID;
CREATE TABLE failed_sample (
  run_id INTEGER NOT NULL REFERENCES run, path TEXT NOT NULL, error TEXT NOT NULL
) STRICT;
CREATE TABLE warning (
  run_id INTEGER NOT NULL REFERENCES run, position INTEGER NOT NULL, text TEXT NOT NULL,
  PRIMARY KEY (run_id, position)
) STRICT, WITHOUT ROWID;
-- What figures draw: of each cell and repeat, the newest complete run.
CREATE VIEW good_run AS
  SELECT *, samples * 1e9 / epoch_ns AS samples_per_s, bytes * 1e9 / epoch_ns AS bytes_per_s
  FROM run WHERE run_id IN
    (SELECT max(run_id) FROM run WHERE incomplete = 0 AND epoch_ns > 0 GROUP BY cell_id, repeat);
)sql";

constexpr const char* kPredictionTables = R"sql(
CREATE TABLE prediction ( -- what a model of the disk says of a run's plan
  prediction_id INTEGER PRIMARY KEY,    -- of several models the greatest is the newest
  run_id         INTEGER NOT NULL REFERENCES run,
  model TEXT NOT NULL, model_hash TEXT NOT NULL, -- name; XXH3-64 of the model's text, hex
  epoch_ns       INTEGER NOT NULL, -- predicted
  first_batch_ns INTEGER,
  requests       INTEGER NOT NULL, -- after merging
  depth_mean     REAL,             -- requests inside, mean over time with I/O
  error          REAL,             -- predicted / measured - 1, of epoch_ns
  UNIQUE (run_id, model)
) STRICT;
CREATE TABLE disk (   -- no row: the disk has no name of its own
  experiment_id INTEGER PRIMARY KEY REFERENCES experiment,
  label TEXT NOT NULL               -- --disk-label
) STRICT;
)sql";

constexpr const char* kNodeTables = R"sql(
CREATE TABLE node_setting ( -- what a run changed on the node, and put back after it
  run_id   INTEGER NOT NULL REFERENCES run,
  position INTEGER NOT NULL,
  name     TEXT NOT NULL,      -- scheduler | nr-requests | memory-limit ..., as the options of run
  asked    TEXT NOT NULL,      -- as written to the kernel
  got      TEXT NOT NULL,      -- what the kernel read back
  before   TEXT NOT NULL,      -- empty: there was none
  PRIMARY KEY (run_id, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE limit_use (  -- no row: the run had no cgroup of its own
  run_id INTEGER PRIMARY KEY REFERENCES run,
  cache_peak_bytes  INTEGER NOT NULL,   -- page cache charged to its cgroup, greatest sample
  memory_peak_bytes INTEGER,            -- of everything charged to it, by the kernel
  limit_hits        INTEGER             -- times that the memory limit made somebody reclaim
) STRICT;
CREATE TABLE noise (      -- what took time from the run, during the epoch; NULL: the kernel does not tell
  run_id INTEGER PRIMARY KEY REFERENCES run,
  steal_ns           INTEGER,  -- by the hypervisor, all CPUs together
  cpu_pressure_ns    INTEGER,  -- some task of the node waited for a CPU (PSI)
  io_pressure_ns     INTEGER,  -- ... for I/O, ours included
  memory_pressure_ns INTEGER,  -- ... for memory
  throttled_ns       INTEGER,  -- our cgroup was held by its CPU quota
  thermal_throttles  INTEGER,  -- times, all CPUs together
  cpu_khz            INTEGER,  -- mean over the CPUs, at the end
  spin_before_wall_ns INTEGER, spin_before_cpu_ns INTEGER, -- fixed work just before the run, and after
  spin_after_wall_ns  INTEGER, spin_after_cpu_ns  INTEGER  -- it; NULL: without --controls
) STRICT;
)sql";

constexpr const char* kAccountTables = R"sql(
CREATE TABLE read_wait (   -- nothing in flight: the reader waits for memory
  run_id   INTEGER NOT NULL REFERENCES run,
  position INTEGER NOT NULL,
  begin_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL,
  consumed_batches INTEGER NOT NULL,     -- until the first so many batches were given back
  PRIMARY KEY (run_id, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE copy_cost (   -- of the copy thread; no row: no copy stage
  run_id INTEGER PRIMARY KEY REFERENCES run,
  parts  INTEGER NOT NULL,               -- samples that it was given
  bytes  INTEGER NOT NULL,
  cpu_ns INTEGER NOT NULL                -- its CPU time, user and system
) STRICT;
CREATE TABLE overlap (     -- on the accelerator's own clock; no row: neither copy stage nor consumer
  run_id INTEGER PRIMARY KEY REFERENCES run,
  transfer_ns INTEGER,                   -- at least one slice of a transfer under way; NULL: no copy
  kernel_ns   INTEGER,                   -- at least one kernel running; NULL: no consumer
  both_ns INTEGER, exposed_ns INTEGER,   -- of transfer_ns: with a kernel, without
  idle_ns INTEGER NOT NULL,              -- of the epoch: neither
  bytes INTEGER, hidden_bytes INTEGER,   -- transferred; of these, while a kernel ran
  slices INTEGER,
  asked_ns INTEGER,                      -- that the kernels were to take together
  fed INTEGER,                           -- kernels whose data were there when the one before ended
  fed_gap_ns INTEGER,                    -- no kernel ran in front of these; together
  fed_gap_most_ns INTEGER                -- in front of one of them
) STRICT;
CREATE TABLE device_clock ( -- an accelerator's clock beside CLOCK_MONOTONIC; no row: no other clock
  run_id INTEGER PRIMARY KEY REFERENCES run,
  offset_ns  INTEGER NOT NULL,           -- CLOCK_MONOTONIC at the first anchor
  drift      REAL,                       -- (host - accelerator) / host, first anchor to last
  drift_error REAL,                      -- that it may be off: much, over a short epoch
  error_ns   INTEGER NOT NULL,           -- that any time may be off, as stated
  clamped_ns INTEGER NOT NULL,           -- farthest that a time lay outside of what the host saw
  anchors    INTEGER NOT NULL,           -- moments at which both clocks were read
  cost_ns    INTEGER NOT NULL            -- time of our threads that this took
) STRICT;
CREATE TABLE accelerator (  -- the GPU that was used, and where it is; no row: none
  run_id INTEGER PRIMARY KEY REFERENCES run,
  name TEXT NOT NULL, uuid TEXT NOT NULL, pci TEXT NOT NULL,  -- empty: unknown
  numa_node INTEGER, disk_numa_node INTEGER,                  -- its own; of the disk with the data
  link_generation INTEGER, link_generation_most INTEGER,      -- PCIe, as it was; as it can be
  link_width INTEGER, link_width_most INTEGER                 -- lanes
) STRICT;
CREATE TABLE account (     -- docs/account.md
  run_id INTEGER PRIMARY KEY REFERENCES run,
  wall_ns INTEGER NOT NULL,
  union_ns INTEGER NOT NULL,             -- at least one lane busy
  overlap_ns INTEGER NOT NULL,           -- sum of busy - union of busy
  ideal_ns INTEGER NOT NULL,             -- busy of the longest lane
  longest_lane TEXT NOT NULL,
  batch_life_ns INTEGER NOT NULL         -- summed over batches: first submission until given back
) STRICT;
CREATE TABLE account_lane (
  run_id INTEGER NOT NULL REFERENCES run,
  position INTEGER NOT NULL,             -- from storage to accelerator
  lane   TEXT NOT NULL,                  -- read | decode | copy | compute
  busy_ns INTEGER NOT NULL,
  hidden_ns INTEGER NOT NULL,            -- busy while a later lane is
  exposed_ns INTEGER NOT NULL,
  PRIMARY KEY (run_id, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE account_stall ( -- of each lane: busy + stalls = wall
  run_id INTEGER NOT NULL REFERENCES run,
  lane TEXT NOT NULL,
  position INTEGER NOT NULL,
  cause TEXT NOT NULL,                   -- start | storage | window | decode | staging | copy |
                                         -- consumer | host | done
  ns INTEGER NOT NULL,
  PRIMARY KEY (run_id, lane, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE account_phase ( -- of batches, summed; together batch_life_ns
  run_id INTEGER NOT NULL REFERENCES run,
  position INTEGER NOT NULL,             -- in the order in which a batch passes them
  phase TEXT NOT NULL,                   -- queued | device | window | decode | decoded | staging |
                                         -- copy | staged | compute | release | held
  ns INTEGER NOT NULL,
  PRIMARY KEY (run_id, position)
) STRICT, WITHOUT ROWID;
)sql";

}  // namespace

Result<> create_schema(Database& db) {
  for (const char* tables :
       {kExperimentTables, kRunTables, kPredictionTables, kMapTables, kNodeTables, kAccountTables,
        kReplayTables, kTraceTables, kRequestTables, kCacheTables, kRanksTables, kWideView}) {
    BLKSWEEP_CHECK(db.exec(tables));
  }
  return db.exec(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplicationId,
                             kSchemaVersion));
}

Result<> prepare_schema(Database& db) {
  // Before the transaction, so that a stranger's file is not even locked.
  BLKSWEEP_TRY(const std::int64_t tables, read_number(db, "SELECT count(*) FROM sqlite_master"));
  BLKSWEEP_TRY(const std::int64_t application, read_number(db, "PRAGMA application_id"));
  if (tables != 0 || application != 0) {
    return check_schema(db);
  }
  BLKSWEEP_TRY(Transaction transaction, Transaction::begin(db));
  // Again inside: another process may have created the tables meanwhile.
  BLKSWEEP_TRY(const std::int64_t now, read_number(db, "SELECT count(*) FROM sqlite_master"));
  BLKSWEEP_CHECK(now == 0 ? create_schema(db) : check_schema(db));
  return transaction.commit();
}

}  // namespace blksweep
