#include "ranks/row.h"

#include <fmt/format.h>

#include <array>

namespace blksweep {

std::string_view to_string(RankState state) {
  constexpr std::array<std::string_view, 7> kWords{"starting", "ready", "reading", "done",
                                                   "failed",   "ended", "lost"};
  const auto i = static_cast<std::size_t>(state);
  return i < kWords.size() ? kWords[i] : "unknown";
}

std::string name_of(const RankFault& fault, std::string_view host) {
  if (!fault.lost) {
    return fault.text;
  }
  return host.empty() ? fmt::format("rank {}: {}", fault.rank, fault.text)
                      : fmt::format("rank {} (node {}): {}", fault.rank, host, fault.text);
}

}  // namespace blksweep
