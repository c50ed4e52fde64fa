// Proof of delivery: every sample exactly once per epoch, with exactly the file's bytes.
//
// check_hashes() reads each delivered sample again through the ordinary path (buffered pread of the
// file by name) and compares XXH3-64; it fills the page cache, so take residency before it. Samples
// that were decoded are compared with the hash that their header in the file promises.
// Threads: pure but for reading files.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace blksweep {

struct DeliveryCount {
  std::uint64_t missing = 0;     // positions that never came
  std::uint64_t duplicated = 0;  // positions that came more than once
};
DeliveryCount count_delivered(const Plan& plan, std::span<const std::uint32_t> delivered);

struct WrongSample {
  std::string path;
  std::string why;
};
struct Verification {
  std::uint64_t wrong = 0;
  std::vector<WrongSample> named;  // the first ones
};
enum class Delivered { as_stored, decoded };
struct DeliveredHashes {
  std::span<const std::uint32_t> positions;
  std::span<const std::uint64_t> hashes;  // beside positions
  Delivered how = Delivered::as_stored;
};
Verification check_hashes(const Catalog& catalog, const Plan& plan, const DeliveredHashes& what);

// XXH3-128 of the emitted sample numbers (little-endian uint32), as hex.
std::string emission_hash(std::span<const std::uint32_t> samples);

}  // namespace blksweep
