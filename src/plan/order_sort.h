// Sorts 16-byte keys of samples: linear time, where std::sort of 1.28 million samples would cost
// more than the rest of planning.
//
// Order:   stable, so equal keys keep the sequence they came in.
// Memory:  `scratch` grows to keys.size() and may be reused by the next call.
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace blksweep {

struct SortKey {
  std::uint64_t key;
  std::uint32_t index;
  std::uint32_t unused;
};
static_assert(sizeof(SortKey) == 16);

void sort_keys(std::span<SortKey> keys, std::vector<SortKey>& scratch);

}  // namespace blksweep
