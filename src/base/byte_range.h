// Bytes [begin, end) of a device or a file.
#pragma once

#include <cstdint>

namespace blksweep {

struct ByteRange {
  std::uint64_t begin = 0, end = 0;
  std::uint64_t bytes() const { return end - begin; }
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

}  // namespace blksweep
