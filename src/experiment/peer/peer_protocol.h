// What a peer is asked and what it answers, as text (docs/peers.md).
//
// Units:   nanoseconds of CLOCK_MONOTONIC; samples by their number in the catalog.
// Errors:  an answer that is none quotes its line. What it says may still be untrue:
//          experiment/peer/peer_report.h.
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiment/cell.h"
#include "loader/planned_epoch.h"

namespace blksweep {

struct PeerQuestion {
  const Catalog& catalog;
  const CellSettings& cell;
  const PlannedEpoch& planned;
  std::uint64_t seed = 1;
  std::vector<std::uint32_t> hashed = {};  // samples whose hash is wanted
  std::string form = {};  // folder for the data in a form of its own; empty: there is none
};
std::string question_text(const PeerQuestion& question);

struct PeerBatch {
  std::int64_t ready_ns = 0, used_ns = 0;
  std::uint64_t bytes = 0;
  std::vector<std::uint32_t> samples = {};
  std::vector<std::pair<std::uint32_t, std::uint64_t>> hashes = {};  // sample -> XXH3-64
};

// Of a peer that decodes, of its whole epoch.
struct PeerDecode {
  std::uint32_t decoders = 0;  // threads or processes; 0: samples stay as they are stored
  std::int64_t wait_ns = 0;    // the consumer waited while they were busy
  std::uint64_t hash = 0;      // of what was decoded of the samples whose hash was wanted
};

struct PeerLine {
  enum class Kind { ready, batch, end, decode };
  Kind kind = Kind::ready;
  std::string loader = {};  // ready: what it is, with its version
  bool own_form = false;    // ready: it reads the folder `form`, and not the files
  PeerBatch batch = {};
  PeerDecode decode = {};
};
Result<PeerLine> parse_peer_line(std::string_view line);

}  // namespace blksweep
