// The process that holds a pin of `blksweep cache pin`, in the background until `cache unpin`.
//
// Start:   forked (the command has one thread), in a session of its own, with "/" as its folder, no
//          descriptors of the command's and SIGHUP and SIGINT ignored; it ends on SIGTERM. Until
//          everything is pinned it reports to the command, and undoes everything when that ends.
// Killed:  helpers and descriptors go with it; its entry in the registry stays, as a dead one.
// Errors:  as InodePin and PagePin; a name that is taken; no right to /run (Exit::unsupported).
// Threads: start_pin_daemon is called by a process with one thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "node/pin/pin.h"
#include "node/pin/registry.h"

namespace blksweep {

struct PinOrder {
  std::string name;
  PinKind kind = PinKind::inodes;
  PinFiles files;  // absolute paths; what it refers to is freed with it
  PinCost cost;
  std::vector<std::string> roots;
};

// When it returns everything is pinned, or nothing is. `stop` and `progress` as in node/pin/pin.h.
Result<PinEntry> start_pin_daemon(const PinRegistry& registry, PinOrder order,
                                  const std::function<bool()>& stop, const PinProgress& progress);

// Its pins are gone when it returns; so is its entry. A dead one's entry is removed.
Result<> end_pin_daemon(const PinRegistry& registry, const PinEntry& entry);

}  // namespace blksweep
