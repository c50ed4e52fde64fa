// What a peer said of its epoch, and what of it is so: every sample once an epoch, the bytes of the
// files, times within the run.
//
// Reads:   files, to compare hashes with (loader/verify.h, loader/spot_check.h).
// Threads: pure otherwise.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiment/peer/peer_protocol.h"
#include "loader/source.h"
#include "store/records.h"

namespace blksweep {

struct PeerReport {
  std::int64_t begin_ns = 0;  // it was told to begin
  std::int64_t end_ns = 0;    // it said that it has ended; 0: it did not
  std::vector<PeerBatch> batches = {};
  std::optional<PeerDecode> decode = std::nullopt;  // it said nothing of decoding
};

struct PeerAsked {
  const Source& source;
  const CellSettings& cell;
  const PlannedEpoch& planned;
  std::uint64_t seed = 1;
  bool verify = false;                // all samples were to be hashed
  std::vector<std::uint32_t> hashed;  // those that were, ascending
};

// Samples of which a run is to be proven: all, about 1 % drawn by the seed, none.
std::vector<std::uint32_t> samples_to_hash(const Catalog& catalog, bool verify, bool check,
                                           std::uint64_t seed);

// Sets samples, bytes, batches, times, decoding, emission and quality of the run, and what was
// checked; marks it incomplete where the report cannot be true. Returns the samples in the order in
// which they came.
[[nodiscard]] std::vector<std::uint32_t> record_report(RunRecord& run, const PeerReport& report,
                                                       const PeerAsked& asked);

}  // namespace blksweep
