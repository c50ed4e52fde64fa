// Emission: the order in which positions leave the window, drawn from sizes and a seed alone.
//
// Units:   sizes and the window are bytes of parcel memory (whole granules). A parcel that several
//          samples share counts from its first arrival to its last departure.
// Rules:   as in schedule.h. Samples have different sizes, so the window's count is not fixed:
//          buffer evicts random residents until the arrival fits, and with a drain until so many
//          bytes have left (all: windows follow each other, each in random order); reservoir starts
//          with k = the number of residents when the window first fills, and lowers k whenever a
//          replacement made the window too large and further random residents had to leave. A
//          uniform sample without random members stays uniform.
// Threads: pure function.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/units.h"
#include "plan/plan.h"
#include "plan/settings.h"

namespace blksweep {

struct Emission {
  std::vector<std::uint32_t> positions;  // emission index -> position
  std::uint64_t peak_bytes = 0;          // most parcel bytes resident at once
  // Per epoch: samples that the window holds: what is in it at the end, with a drain the most.
  std::vector<std::uint32_t> held;
};

// `granule` is the unit that parcels are rounded up to. No parcel is larger than the window.
Emission draw_emission(const Plan& plan, const ShuffleSettings& settings, std::uint32_t granule);

}  // namespace blksweep
