// What a run does where a facility is refused: io_uring in containers and sandboxes, device
// addresses on filesystems without FIEMAP; and where a default cannot hold the data.
//
// Rule:    what nobody named gives way to what works (psync, path order), in the cell itself, so
//          that a record never says what did not happen; and each of its runs carries a warning
//          with the facility, the reason and what that does to the result. What was named is not
//          replaced silently: an engine that is refused ends the experiment before its first run;
//          an order by address is one by inode, merging on a device that gives nothing is that of
//          each file's own reads, and the cell says both (order_asked, merge_asked).
// Threads: find_refusals() makes a ring and reads one page through it; the rest is pure.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "experiment/cell.h"
#include "loader/source.h"

namespace blksweep {

struct Refusals {
  std::string ring = {};       // why io_uring cannot read; empty: it can, or no cell wants it
  std::string addresses = {};  // why there is no order by address; empty: there is
  std::string device = {};     // why no sample can be read from the device; empty: some can
  Bytes largest{0};            // sample: what a shuffle's window must hold
  // Why an engine that cells name cannot read, io_uring and psync aside, with the way out.
  std::map<EngineKind, std::string> engines = {};
};

Bytes largest_sample(const Catalog& catalog);

// Whether pieces or windows of the cell's order are sorted by address.
bool sorts_by_address(const CellSettings& cell);

// Nothing is tried that no cell wants: a filter may kill instead of refusing.
Refusals find_refusals(const Source& source, std::span<const CellSettings> cells);

// The cell that works here. Errors: Exit::unsupported for a named engine.
Result<CellSettings> settle(const CellSettings& cell, const Refusals& refusals);

// What a settled cell's result does not say; for its runs.
std::vector<std::string> fallback_notes(const CellSettings& settled, const Refusals& refusals);

}  // namespace blksweep
