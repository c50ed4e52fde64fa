#include "store/schema/schema_beside.h"

namespace blksweep {

const char* const kMapTables = R"sql(
CREATE TABLE map (    -- one latency map (blksweep map)
  map_id          INTEGER PRIMARY KEY,
  device TEXT NOT NULL,             -- as given: /dev/sda, a file
  device_model TEXT NOT NULL, kernel TEXT NOT NULL, hostname TEXT NOT NULL,
  size_bytes      INTEGER NOT NULL,
  rotational      INTEGER NOT NULL, -- 0, 1: what the kernel says
  started_unix_ns INTEGER NOT NULL, -- CLOCK_REALTIME
  seed            TEXT NOT NULL,    -- unsigned 64 bit, decimal
  seconds         REAL NOT NULL,    -- that were asked for
  interrupted     INTEGER NOT NULL, -- 1: cut short by a signal; parts are short or missing
  left_out_bytes  INTEGER,          -- unwritten, not read; NULL: nothing tells, or --unwritten
  left_out_by     TEXT NOT NULL,    -- what tells
  path_ns         REAL,             -- a read that needs no medium; NULL: not measured
  rotation_ns     REAL,             -- one revolution; NULL: none found
  tool_version TEXT NOT NULL, git_revision TEXT NOT NULL, argv TEXT NOT NULL
) STRICT;
CREATE TABLE map_read (  -- packed little-endian records, see docs/results-schema.md
  map_id  INTEGER NOT NULL REFERENCES map,
  part    TEXT NOT NULL,            -- distance | size | depth | zone | revisit | cached
  records INTEGER NOT NULL,
  data    BLOB NOT NULL,            -- i64 begin_ns, i64 latency_ns, u64 offset, i64 distance,
                                    -- u32 bytes, u32 depth
  PRIMARY KEY (map_id, part)
) STRICT;
CREATE TABLE map_curve ( -- derived from the reads: docs/latency-map.md
  map_id INTEGER NOT NULL REFERENCES map,
  kind   TEXT NOT NULL,             -- seek_forward | seek_backward: x bytes, y ns
                                    -- zone_rate: x byte offset, y bytes per second
  x REAL NOT NULL, y REAL NOT NULL
) STRICT;
CREATE TABLE map_warning (
  map_id INTEGER NOT NULL REFERENCES map, position INTEGER NOT NULL, text TEXT NOT NULL,
  PRIMARY KEY (map_id, position)
) STRICT, WITHOUT ROWID;
)sql";

const char* const kReplayTables = R"sql(
CREATE TABLE replay ( -- a trace issued again, and its certificate: docs/replay.md
  replay_id INTEGER PRIMARY KEY,
  key TEXT NOT NULL,                             -- equal: repeats of one another
  trace TEXT NOT NULL, trace_kind TEXT NOT NULL, -- file as given; block | file
  target TEXT NOT NULL, disk TEXT NOT NULL,      -- device or folder; name under /sys/block
  timing TEXT NOT NULL, addresses TEXT NOT NULL,
  verdict TEXT NOT NULL, reason TEXT NOT NULL,   -- faithful | held_back | unfaithful
  shared TEXT NOT NULL,                          -- who else used the disk; '': nobody notable
  speed REAL NOT NULL, depth INTEGER NOT NULL, depth_mean REAL NOT NULL,
  requests INTEGER NOT NULL, bytes INTEGER NOT NULL, -- that were issued, and came
  writes INTEGER NOT NULL, left_out INTEGER NOT NULL, failed INTEGER NOT NULL,
  length_ns INTEGER NOT NULL,                    -- to the last completion
  late_p50_ns INTEGER NOT NULL, late_p99_ns INTEGER NOT NULL,
  late_p999_ns INTEGER NOT NULL, late_max_ns INTEGER NOT NULL,
  tool_p50_ns INTEGER NOT NULL, tool_p99_ns INTEGER NOT NULL,
  tool_p999_ns INTEGER NOT NULL, tool_max_ns INTEGER NOT NULL,
  device_p99_ns INTEGER NOT NULL,
  fio_version TEXT NOT NULL,                     -- '': fio did not replay it
  fio_p50_ns INTEGER, fio_p99_ns INTEGER,        -- at the driver
  document TEXT NOT NULL,                        -- what replay --json prints of it
  started_unix_ns INTEGER NOT NULL, interrupted INTEGER NOT NULL,
  hostname TEXT NOT NULL, kernel TEXT NOT NULL,
  tool_version TEXT NOT NULL, git_revision TEXT NOT NULL, argv TEXT NOT NULL
) STRICT;
CREATE TABLE replay_curve (
  replay_id INTEGER NOT NULL REFERENCES replay,
  kind TEXT NOT NULL, -- late | late_tool | late_driver | late_fio | latency | latency_recorded:
                      -- x lower bound of a bucket in ns, y requests;
                      -- due | issued: x begin of a window of 100 ms, y requests
  x REAL NOT NULL, y REAL NOT NULL
) STRICT;
)sql";

const char* const kTraceTables = R"sql(
CREATE TABLE trace ( -- what trace stat says of one: docs/traces.md
  trace_id INTEGER PRIMARY KEY,
  trace TEXT NOT NULL, trace_kind TEXT NOT NULL, -- file as given; block | file
  requests INTEGER NOT NULL, reads INTEGER NOT NULL, footprint_bytes INTEGER NOT NULL,
  duration_ns INTEGER NOT NULL,                  -- from the first to the last request
  gap_variation REAL, sequential REAL,           -- NULL: not known
  miss_ratio_error REAL NOT NULL,                -- 0: the curve is exact
  timing TEXT NOT NULL,                          -- measured | synthetic
  document TEXT NOT NULL,                        -- what trace stat --json prints of it
  started_unix_ns INTEGER NOT NULL,
  hostname TEXT NOT NULL, kernel TEXT NOT NULL,
  tool_version TEXT NOT NULL, git_revision TEXT NOT NULL, argv TEXT NOT NULL
) STRICT;
CREATE TABLE trace_curve (
  trace_id INTEGER NOT NULL REFERENCES trace,
  kind TEXT NOT NULL, -- rate: x begin of a step in ns, y requests/s; depth: y requests in flight;
                      -- misses: x bytes of an LRU cache, y share of references that it misses
  x REAL NOT NULL, y REAL NOT NULL
) STRICT;
CREATE TABLE trace_access ( -- up to 20,000 of its accesses, each as likely as any other
  trace_id INTEGER NOT NULL REFERENCES trace,
  time_ns INTEGER NOT NULL,
  address REAL NOT NULL,   -- bytes; volumes, or files, one behind the other
  bytes INTEGER NOT NULL,
  op TEXT NOT NULL         -- read | write | discard
) STRICT;
)sql";

const char* const kRanksTables = R"sql(
CREATE TABLE ranks ( -- an epoch that many processes read together: docs/ranks.md
  ranks_id INTEGER PRIMARY KEY,
  key TEXT NOT NULL,                -- settings without the number of ranks: equal ones scale
  data TEXT NOT NULL, split TEXT NOT NULL, barrier TEXT NOT NULL,
  read_order TEXT NOT NULL, merge TEXT NOT NULL, shuffle TEXT NOT NULL,
  window_scope TEXT NOT NULL,       -- global: one window for all; rank: one for each
  ranks INTEGER NOT NULL, nodes INTEGER NOT NULL,
  epoch_samples INTEGER NOT NULL,   -- of one epoch of the data; 0: not known yet
  complete INTEGER NOT NULL, fault TEXT NOT NULL, -- '': none
  samples INTEGER NOT NULL, bytes INTEGER NOT NULL, batches INTEGER NOT NULL,
  storage_bytes INTEGER,            -- that ranks made block devices read; NULL: not known
  missing_samples INTEGER, duplicated_samples INTEGER, emission_hash TEXT, -- NULL: cut off before
  quality_displacement REAL, quality_rank_decorrelation REAL, quality_neighbours_broken REAL,
  quality_label_mix REAL, quality_rank_label_mix REAL, -- of steps of all ranks; of each rank's batches
  batch_ns      INTEGER,            -- last_done_ns / batches
  first_done_ns INTEGER, last_done_ns INTEGER,  -- ranks, by rank 0's clock; NULL: none came
  start_skew_ns INTEGER NOT NULL, waited_ns INTEGER NOT NULL, barrier_ns INTEGER NOT NULL,
  clock_error_ns INTEGER NOT NULL,  -- the largest
  samples_per_s REAL NOT NULL, bytes_per_s REAL NOT NULL, -- until the last rank was done
  document TEXT NOT NULL,           -- what --json prints
  started_unix_ns INTEGER NOT NULL, -- CLOCK_REALTIME, when it was kept
  hostname TEXT NOT NULL, kernel TEXT NOT NULL,  -- of rank 0
  tool_version TEXT NOT NULL, git_revision TEXT NOT NULL, argv TEXT NOT NULL
) STRICT;
CREATE TABLE rank_entry (
  ranks_id INTEGER NOT NULL REFERENCES ranks,
  rank INTEGER NOT NULL, node INTEGER NOT NULL, host TEXT NOT NULL, cpus INTEGER NOT NULL,
  state TEXT NOT NULL,              -- done | failed | ended | lost; of one cut off: where it was
  samples INTEGER NOT NULL, bytes INTEGER NOT NULL, batches INTEGER NOT NULL,
  storage_bytes INTEGER, wrong_samples INTEGER NOT NULL,
  begin_ns INTEGER NOT NULL, first_batch_ns INTEGER, last_batch_ns INTEGER, -- NULL: none came
  waited_ns INTEGER NOT NULL, barrier_ns INTEGER NOT NULL,
  clock_offset_ns INTEGER NOT NULL, clock_error_ns INTEGER NOT NULL,
  PRIMARY KEY (ranks_id, rank)
) STRICT, WITHOUT ROWID;
)sql";

const char* const kCacheTables = R"sql(
CREATE TABLE page_cache ( -- of the data set's files, in whole pages; no row: no --probe-cache
  run_id INTEGER PRIMARY KEY REFERENCES run,
  hit_share       REAL,             -- of wanted_bytes: nobody had to fetch it; NULL: the run reads
                                    -- past the page cache
  wanted_bytes    INTEGER NOT NULL, -- pages with a byte that the run delivers
  added_bytes     INTEGER NOT NULL, -- put into the page cache during the epoch, by anybody
  unwanted_bytes  INTEGER NOT NULL, -- of these: not wanted
  again_bytes     INTEGER NOT NULL, -- of these: had been evicted since the begin
  evicted_bytes   INTEGER NOT NULL,
  inodes_loaded   INTEGER,          -- by this process; NULL, here and below: the kernel does not tell
  inodes_evicted  INTEGER,          -- of the filesystem, by anybody
  dentries_loaded INTEGER,          -- by this process
  shrinker_freed  INTEGER,          -- dentries and inodes of the filesystem, for anybody
  readahead_sync  INTEGER,          -- reads that asked for read-ahead: they found nothing
  readahead_async INTEGER,          -- they reached the mark of a window
  readahead_windows INTEGER,        -- opened, of the data set's files
  readahead_bytes INTEGER,          -- of these, up to the end of the file
  reclaims        INTEGER,          -- by threads of this process, for want of memory
  reclaimed_bytes INTEGER,          -- that these gave back, of whatever file
  reclaim_ns      INTEGER,          -- that these took, summed over threads
  kswapd_wakes    INTEGER,          -- of the whole node
  lost_events     INTEGER NOT NULL  -- counts are too low by these
) STRICT;
CREATE TABLE page_cache_file ( -- of which most was fetched for nothing or twice; each page once
  run_id   INTEGER NOT NULL REFERENCES run,
  position INTEGER NOT NULL,        -- the worst first
  path     TEXT NOT NULL,
  wanted_bytes   INTEGER NOT NULL, added_bytes INTEGER NOT NULL,
  unwanted_bytes INTEGER NOT NULL,  -- of what was added
  again_bytes    INTEGER NOT NULL,  -- added after they had been evicted
  PRIMARY KEY (run_id, position)
) STRICT, WITHOUT ROWID;
)sql";

const char* const kRequestTables = R"sql(
CREATE TABLE request_order ( -- what became of the plan's order at a layer; no row: not known there
  run_id   INTEGER NOT NULL REFERENCES run,
  position INTEGER NOT NULL,        -- of the layer, from above
  layer    TEXT NOT NULL,           -- queue: bios as submitted; insert: requests into the scheduler;
                                    -- issue: to the driver; complete
  reads    INTEGER NOT NULL,        -- of the plan, that were seen there, once each
  kept     REAL NOT NULL,           -- share of neighbours of the plan seen in its order
  tau      REAL NOT NULL,           -- Kendall's tau within windows of the depth
  inversions INTEGER NOT NULL,      -- pairs in these windows that were exchanged
  reversed REAL NOT NULL,           -- share of reads in reversed runs of 3 or more requests
  reversed_run INTEGER,             -- requests in such a run, median; NULL: none
  batches INTEGER, batches_reversed INTEGER, -- the reader's submissions that became 3 or more
                                    -- requests; of these reversed; NULL: it has none (workers)
  displaced_p50 INTEGER NOT NULL,   -- places between plan and sight; histogram: displaced_LAYER
  displaced_p99 INTEGER NOT NULL, displaced_max INTEGER NOT NULL,
  verdict  TEXT NOT NULL,           -- one sentence
  PRIMARY KEY (run_id, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE request_class ( -- what requests were for; no row: not known (docs/probe.md)
  run_id   INTEGER NOT NULL REFERENCES run,
  position INTEGER NOT NULL,
  kind     TEXT NOT NULL,           -- samples | read_ahead | gaps | metadata | other | elsewhere:
                                    -- of reads; writes | flushes | discards
  requests INTEGER, bytes INTEGER,  -- that hold bytes of it, and these; NULL: not told apart
  PRIMARY KEY (run_id, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE request_path ( -- the files and folders of which most was read
  run_id   INTEGER NOT NULL REFERENCES run,
  position INTEGER NOT NULL,
  kind     TEXT NOT NULL,           -- file | folder
  path     TEXT NOT NULL,           -- below the data set's directory
  requests INTEGER NOT NULL, bytes INTEGER NOT NULL, -- that hold bytes of it, and these
  latency_mean_ns REAL,             -- of these requests; NULL: the end of none was seen
  PRIMARY KEY (run_id, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE request_extent ( -- the extents of files of which most was read
  run_id   INTEGER NOT NULL REFERENCES run,
  position INTEGER NOT NULL,
  path     TEXT NOT NULL,           -- of the file
  file_offset INTEGER NOT NULL, address INTEGER NOT NULL, length INTEGER NOT NULL, -- bytes; of the
                                    -- whole disk
  requests INTEGER NOT NULL, bytes INTEGER NOT NULL, -- that hold bytes of it, and these
  latency_mean_ns REAL,             -- of these requests; NULL: the end of none was seen
  PRIMARY KEY (run_id, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE request_latency ( -- latency by size
  run_id     INTEGER NOT NULL REFERENCES run,
  position   INTEGER NOT NULL,
  bytes      INTEGER NOT NULL,      -- requests of so many to less than twice that
  latency_ns INTEGER NOT NULL,      -- that took so long to less than the next of 4 steps an octave
  requests   INTEGER NOT NULL,
  PRIMARY KEY (run_id, position)
) STRICT, WITHOUT ROWID;
)sql";

}  // namespace blksweep
