// Other loaders in our place (docs/peers.md) on the command line: their options, what of a cell
// means something to them, and where their programs are.
//
// Trust:   a name is looked up below scripts/peers (cli/scripts.h); a path is taken only where
//          nobody else can have written to the program or exchange it.
// Threads: pure but for looking at files.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/run/cell_options.h"
#include "experiment/cell.h"

namespace blksweep {

std::span<const CellOption> peer_options();
// A plan does not depend on them.
bool is_peer_option(std::string_view name);
// Whether a peer heeds it: the state of the node and the caches, batches and what they are used
// for.
bool peer_heeds(std::string_view option);

// The rest of its settings as they are for all peers: through files, in random order.
void as_peer(CellSettings& cell);

// The cells of one sweep: ours, and those of the peers that `text` names.
Result<std::vector<CellSettings>> expand_with_peers(CellText text);

// Names the program that each peer's cell executes.
Result<> find_peers(std::vector<CellSettings>& cells);

// Of the text of a peer's program, for the key of a sweep: edited since, it is another loader.
// Empty of our own cells.
std::string peer_program_key(const CellSettings& cell);

}  // namespace blksweep
