// Pieces: the runs of bytes of which a batch's copy consists, each from one place to another.
//
// Threads: value, one owner.
#pragma once

#include <cstddef>
#include <vector>

namespace blksweep {

// Parallel arrays, as cuMemcpyBatchAsync takes them.
struct Pieces {
  std::vector<const void*> from;
  std::vector<void*> to;
  std::vector<std::size_t> bytes;

  void reserve(std::size_t n);
  void clear();
  std::size_t size() const { return from.size(); }
  // Joins it with the last one where it goes on from that in both places.
  void add(const std::byte* source, std::byte* target, std::size_t length);
};

// A lane's share may be off by this much rather than cut a piece.
inline constexpr std::size_t kShareGranule = std::size_t{64} << 10;

// Shares the pieces out to `lanes` by bytes: lane i gets those from ends[i - 1] (0 for the first)
// up to ends[i]. A piece that reaches far across the border between two lanes is cut there.
void share_out(Pieces& pieces, std::size_t lanes, std::vector<std::size_t>& ends);

}  // namespace blksweep
