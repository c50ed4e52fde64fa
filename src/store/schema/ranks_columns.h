// The columns of the tables ranks and rank_entry, as run_columns.h has those of runs.
#pragma once

#include "store/ranks_records.h"

namespace blksweep {

template <class Ranks, class F>
void each_ranks_column(Ranks& r, F&& f) {
  f("key", r.key);
  f("data", r.data);
  f("split", r.split);
  f("barrier", r.barrier);
  f("read_order", r.order);
  f("merge", r.merge);
  f("shuffle", r.shuffle);
  f("window_scope", r.window_scope);
  f("ranks", r.ranks);
  f("nodes", r.nodes);
  f("epoch_samples", r.epoch_samples);
  f("complete", r.complete);
  f("fault", r.fault);
  f("samples", r.samples);
  f("bytes", r.bytes);
  f("storage_bytes", r.storage_bytes);
  f("batches", r.batches);
  f("missing_samples", r.missing_samples);
  f("duplicated_samples", r.duplicated_samples);
  f("emission_hash", r.emission_hash);
  f("quality_displacement", r.quality_displacement);
  f("quality_rank_decorrelation", r.quality_rank_decorrelation);
  f("quality_neighbours_broken", r.quality_neighbours_broken);
  f("quality_label_mix", r.quality_label_mix);
  f("quality_rank_label_mix", r.quality_rank_label_mix);
  f("batch_ns", r.batch_ns);
  f("first_done_ns", r.first_done_ns);
  f("last_done_ns", r.last_done_ns);
  f("start_skew_ns", r.start_skew_ns);
  f("waited_ns", r.waited_ns);
  f("barrier_ns", r.barrier_ns);
  f("clock_error_ns", r.clock_error_ns);
  f("samples_per_s", r.samples_per_s);
  f("bytes_per_s", r.bytes_per_s);
  f("document", r.document);
  f("started_unix_ns", r.started_unix_ns);
  f("hostname", r.hostname);
  f("kernel", r.kernel);
  f("tool_version", r.tool_version);
  f("git_revision", r.git_revision);
  f("argv", r.argv);
}

template <class Entry, class F>
void each_rank_entry_column(Entry& e, F&& f) {
  f("rank", e.rank);
  f("node", e.node);
  f("host", e.host);
  f("cpus", e.cpus);
  f("state", e.state);
  f("samples", e.samples);
  f("bytes", e.bytes);
  f("storage_bytes", e.storage_bytes);
  f("batches", e.batches);
  f("wrong_samples", e.wrong_samples);
  f("begin_ns", e.begin_ns);
  f("first_batch_ns", e.first_batch_ns);
  f("last_batch_ns", e.last_batch_ns);
  f("waited_ns", e.waited_ns);
  f("barrier_ns", e.barrier_ns);
  f("clock_offset_ns", e.clock_offset_ns);
  f("clock_error_ns", e.clock_error_ns);
}

}  // namespace blksweep
