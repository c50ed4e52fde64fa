// Rows of ranks, and what they deliver, as tests make them up.
#pragma once

#include <cstdint>

#include "ranks/row.h"

namespace blksweep::support {

inline std::uint64_t at(std::uint64_t place, std::uint32_t sample) { return place << 32 | sample; }

inline RankRow row_of(std::uint32_t rank, RankState state) {
  RankRow row;
  row.rank = rank;
  row.state = state;
  return row;
}

}  // namespace blksweep::support
