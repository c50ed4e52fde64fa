// measure_peer: one run of a cell whose loader is another program (docs/peers.md), under the
// conditions that measure_run gives our own: node, caches, probe, and the same proofs.
//
// Epoch:   begins when the peer, which has said that it is ready, is told to go; ends when the last
//          batch was used. Its start-up is before, and stored.
// Place:   it starts within the limits, on the CPUs of all roles of --bind, with the run's I/O
//          priority. What is in the page cache is settled after it has started.
// Ends:    with everything that it started, whatever becomes of it; one that does not answer for
//          PeerSettings::patience is ended.
// Errors:  as measure_run: a peer that dies, lies or says nothing makes an incomplete run that
//          names it. try_peer() finds before anything is measured what cannot work here.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "experiment/pair.h"

namespace blksweep {

struct PeerSettings {
  std::string folder = {};  // of data in forms of the peers' own (--peer-data); empty: none
  Nanos patience = std::chrono::minutes(10);  // with its start, and with an epoch
};

// Of the text of the cell's peer program: edited since, it is another loader, and what it made
// another form. Of nothing where the cell is our own.
std::uint64_t peer_program_hash(const CellSettings& cell);

Result<MeasuredRun> measure_peer(const PairRequest& request, const PeerSettings& settings);

// Starts it, so that it makes its form of the data where it has one, and ends it when it is ready.
Result<> try_peer(const PairRequest& request, const PeerSettings& settings);

}  // namespace blksweep
