// RankRow: what is known of one rank, as it is kept in memory, sent between nodes and told.
//
// Plain bytes, zeros where nothing is known: a row outlives its process (ranks/board.h) and goes
// over a socket as it is, between programs of one build.
// Units:  nanoseconds by rank 0's clock, from the common start on (negative: before it); bytes of
//         samples; samples and batches over all epochs. How far a rank's clock may be off:
//         clock_error_ns.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace blksweep {

enum class RankState : std::uint32_t {
  starting,  // it looks at the data and plans
  ready,     // it waits for the others
  reading,
  done,    // with its part; not before all have told it
  failed,  // as all agreed: rank 0 says why
  ended,   // by us, because another one is lost
  lost,    // it died, or is silent
};
std::string_view to_string(RankState state);

struct RankRow {
  std::uint32_t rank = 0;
  std::uint32_t node = 0;     // number of the node, in the order of the lowest rank on it
  std::uint32_t on_node = 0;  // which of the node's ranks it is
  std::uint32_t cpus = 0;     // that it may use
  RankState state = RankState::starting;
  std::uint32_t batches = 0;
  std::uint64_t arrivals = 0;  // at places where ranks wait for each other
  std::uint64_t samples = 0, bytes = 0;
  std::uint64_t cpu_ns = 0;          // that its process has had: whether it stirs
  std::uint64_t compared = 0;        // with files, in lots: that it gets on
  std::uint64_t wrong = 0;           // samples whose bytes are not their file's; known at the end
  std::uint64_t content = 0;         // of all bytes with their samples' numbers; 0: not hashed
  std::int64_t begin_ns = 0;         // of reading
  std::int64_t first_ns = 0;         // first batch; 0: none came
  std::int64_t last_ns = 0;          // last one so far, used (--compute)
  std::int64_t waited_ns = 0;        // for batches
  std::int64_t barrier_ns = 0;       // for other ranks
  std::int64_t clock_offset_ns = 0;  // to rank 0's clock, as measured
  std::int64_t clock_error_ns = 0;   // of that, at most; 0 where both are one clock
  std::uint64_t storage_bytes = 0;   // that it made block devices read; known at the end
  std::uint64_t storage_known = 0;   // 1: it is
  std::array<char, 64> host{};       // ends in a zero

  std::string host_name() const { return host.data(); }
};
static_assert(std::is_trivially_copyable_v<RankRow>);

template <std::size_t N>
void put_text(std::array<char, N>& to, std::string_view text) {
  to = {};
  text.substr(0, N - 1).copy(to.data(), N - 1);
}

// How far the row's clock may have been off its offset, where at the end it is `ns`, give or take
// `error`.
std::int64_t error_since(const RankRow& row, std::int64_t ns, std::int64_t error);

// A rank that could not go on, and why all ended.
struct RankFault {
  std::uint32_t rank = 0;
  std::string text;  // "ended by signal 9 (Killed) after 120 samples"
  bool lost = true;  // otherwise it only heard first that all should end
};
// "rank 2 (node b): ended by signal 9 (Killed)"
std::string name_of(const RankFault& fault, std::string_view host);

}  // namespace blksweep
