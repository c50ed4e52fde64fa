// Which sample left the window at which place, as a file: an accuracy study can then train in
// exactly the order that was planned or measured (docs/emission.md).
//
// Forms:   a name that ends in .npy is a structured NumPy array, which numpy.load takes without
//          pickle; any other is CSV (RFC 4180, LF, a heading). The columns are the same.
// Order:   one row per place, from the first batch of the first epoch on. Samples that failed are
//          absent, so places have no gaps, and a batch may have fewer samples than others.
// Paths:   relative to the data set's folder, byte for byte; in .npy as wide as the longest one.
// Errors:  one line that names the file; an old file under that name stays whole.
// Threads: independent of each other; pure but for writing.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "loader/planned_epoch.h"

namespace blksweep {

struct EmittedOrder {
  const Catalog& catalog;                        // with the share of samples that the cell reads
  std::span<const std::uint32_t> samples;        // as they came
  std::span<const std::uint32_t> batch_samples;  // how many each batch had; their sum is all
  std::uint64_t batches_per_epoch = 1;
  // Of a loader whose batches are as it likes, such as a peer: what an epoch has; 0: unused.
  std::uint64_t samples_per_epoch = 0;
};
Result<> write_emission(const std::string& path, const EmittedOrder& order);

// What a plan says that will be emitted, when nothing fails.
struct PlannedEmission {
  std::vector<std::uint32_t> samples, batch_samples;
  std::uint64_t batches_per_epoch = 1;
};
PlannedEmission planned_emission(const PlannedEpoch& planned);

// Names of several files: %c is the number of the cell, from 1; %r the repeat, from 0; %% is %.
// Errors:  usage: another field; several cells without %c, several repeats without %r.
struct EmissionCount {
  std::uint64_t cells = 1, repeats = 1;
};
Result<> check_emission_name(const std::string& pattern, const EmissionCount& count);
// REQUIRES: a name that was checked.
std::string emission_name(const std::string& pattern, std::uint64_t cell, std::uint64_t repeat);
// An emission takes the place of nothing but an emission in the same form.
Result<> check_emission_place(const std::string& path);

}  // namespace blksweep
