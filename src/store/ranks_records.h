// An epoch that many processes read together, as it is kept (docs/ranks.md). Times are of rank 0's
// clock, from the common start on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/maybe.h"

namespace blksweep {

struct RankEntry {
  std::uint32_t rank = 0, node = 0, cpus = 0;
  std::string host, state;
  std::uint64_t samples = 0, bytes = 0, batches = 0, wrong_samples = 0;
  Maybe<std::uint64_t> storage_bytes;
  std::int64_t begin_ns = 0;
  Maybe<std::int64_t> first_batch_ns, last_batch_ns;  // NULL: none came
  std::int64_t waited_ns = 0, barrier_ns = 0;         // for batches; for other ranks
  std::int64_t clock_offset_ns = 0, clock_error_ns = 0;
};

struct RanksRow {
  std::string key;  // the settings, without the number of ranks: of repeats, and of what scales
  std::string data, split, barrier, order, merge, shuffle, window_scope;
  std::uint32_t ranks = 0, nodes = 0;
  std::uint64_t epoch_samples = 0;  // of one epoch of the data
  bool complete = false;
  std::string fault;  // empty: none
  std::uint64_t samples = 0, bytes = 0, batches = 0;
  Maybe<std::uint64_t> missing_samples, duplicated_samples;  // NULL: cut off before it was proven
  Maybe<std::string> emission_hash;
  Maybe<double> quality_displacement, quality_rank_decorrelation, quality_neighbours_broken;
  Maybe<double> quality_label_mix, quality_rank_label_mix;
  Maybe<std::uint64_t> storage_bytes;                         // NULL: not known
  Maybe<std::int64_t> batch_ns, first_done_ns, last_done_ns;  // NULL: none came
  std::int64_t start_skew_ns = 0, waited_ns = 0, barrier_ns = 0, clock_error_ns = 0;
  double samples_per_s = 0, bytes_per_s = 0;
  std::string document;  // what --json prints
  std::int64_t started_unix_ns = 0;
  std::string hostname, kernel, tool_version, git_revision, argv;
  std::vector<RankEntry> entries;
};

}  // namespace blksweep
