#include "ranks/row.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>

namespace blksweep {

std::string_view to_string(RankState state) {
  constexpr std::array<std::string_view, 7> kWords{"starting", "ready", "reading", "done",
                                                   "failed",   "ended", "lost"};
  const auto i = static_cast<std::size_t>(state);
  return i < kWords.size() ? kWords[i] : "unknown";
}

std::int64_t error_since(const RankRow& row, std::int64_t ns, std::int64_t error) {
  // One clock, measured twice, is still one.
  return row.clock_error_ns == 0 ? 0 : std::abs(ns - row.clock_offset_ns) + error;
}

std::string name_of(const RankFault& fault, std::string_view host) {
  if (!fault.lost) {
    return fault.text;
  }
  return host.empty() ? fmt::format("rank {}: {}", fault.rank, fault.text)
                      : fmt::format("rank {} (node {}): {}", fault.rank, host, fault.text);
}

}  // namespace blksweep
