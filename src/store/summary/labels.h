// Short names for cells: what distinguishes them, in the words of the command line.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/records.h"

namespace blksweep {

// "random", "lba + device", "chunked + reservoir + window 64 MiB": the order, then whatever varies
// among those of `cells` where it means something. "none" is left out, and so is the window of a
// cell that does not shuffle, unless two cells would then have the same name. One label per cell,
// all different when the cells are.
std::vector<std::string> cell_labels(const std::vector<CellRecord>& cells);

// The text of a setting, or empty.
std::string setting_of(const CellRecord& cell, std::string_view name);

// Whether another program is measured, beside our cells.
bool is_peer(const CellRecord& cell);

// What people call the disk of a host: its label, else of an emulated disk its model, else the
// device's name and model.
std::string disk_label(const HostRecord& host);

// Whether the cell has one of the given values for each name that is given. Names given twice are
// alternatives: order=lba,order=random.
using CellFilter = std::vector<std::pair<std::string, std::string>>;
bool matches(const CellRecord& cell, const CellFilter& filter);

}  // namespace blksweep
