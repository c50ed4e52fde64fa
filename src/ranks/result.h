// The one result of all ranks: a row for each, and what they are together.
//
// Joined:   throughput from the common start to the last rank's last batch; skew: between the first
//           rank that is done and the last one.
// Proof:    of what all delivered, by place in the one order (nothing: an end before the end).
// Complete: every rank is done and everything that was to come came, once, and as it is in its
//           file.
// Threads:  pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "ranks/quality.h"
#include "ranks/row.h"

namespace blksweep {

struct EmissionProof {
  std::string hash;  // XXH3-128 of the samples by place: as a run's emission_hash
  std::uint64_t missing = 0, duplicated = 0;
  std::uint64_t misplaced = 0;  // ranks that delivered another order, of those that each read all
  bool compared = false;        // bytes, with the files
  bool whole() const { return missing == 0 && duplicated == 0 && misplaced == 0; }
};

struct RanksResult {
  std::string facts;  // JSON of the experiment; its keys come first
  std::vector<RankRow> rows;
  std::optional<RankFault> fault;
  std::optional<EmissionProof> proof;
  std::optional<RanksQuality> quality = {};  // of what was delivered; without the proof nothing
  // What its times have in them beside the reading, and what the data set lacks.
  std::vector<std::string> warnings = {};
};

struct JoinedRow {
  std::uint64_t samples = 0, bytes = 0, wrong = 0;
  std::uint64_t content =
      0;  // sum over the ranks: equal for all splits but copy, and numbers of ranks
  std::uint32_t nodes = 0;
  std::uint32_t batches = 0;       // most of any rank: with barriers, how often all met
  std::int64_t start_skew_ns = 0;  // between the first to begin and the last
  std::int64_t first_done_ns = 0, last_done_ns = 0;
  std::int64_t barrier_ns = 0, waited_ns = 0;  // of all
  std::int64_t clock_error_ns = 0;             // the largest
  std::optional<std::uint64_t> storage_bytes;  // of all; unknown where that of one is
  std::int64_t skew_ns() const { return last_done_ns - first_done_ns; }
};
JoinedRow join_rows(std::span<const RankRow> rows);

// Of (place << 32 | sample): what was delivered of so many places.
EmissionProof prove_emission(std::span<const std::uint64_t> delivered, std::uint64_t places);

bool is_complete(const RanksResult& result);
Json result_json(const RanksResult& result);
std::string result_text(const RanksResult& result);

}  // namespace blksweep
