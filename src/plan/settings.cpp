#include "plan/settings.h"

#include <array>

namespace blksweep {
namespace {

template <class E, std::size_t N>
std::string_view word(E value, const std::array<std::string_view, N>& words) {
  return words[static_cast<std::size_t>(value)];
}

constexpr std::array<std::string_view, 9> kOrders{
    "random", "path", "directory", "inode", "lba", "chunked", "recorded", "reverse", "elevator"};
constexpr std::array<std::string_view, 4> kMerges{"none", "file", "kernel", "device"};
constexpr std::array<std::string_view, 4> kShuffles{"none", "buffer", "reservoir", "full"};

}  // namespace

std::string_view to_string(Order o) { return word(o, kOrders); }
std::string_view to_string(Merge m) { return word(m, kMerges); }
std::string_view to_string(Shuffle s) { return word(s, kShuffles); }

}  // namespace blksweep
