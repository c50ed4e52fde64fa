#include "loader/exchanges.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace blksweep {
namespace {

constexpr std::size_t kHeld = 512;  // what registers and the first cache hold beside both lines

void exchange_bytes(std::byte* a, std::byte* b, std::size_t bytes) {
  std::array<std::byte, kHeld> held;
  for (std::size_t at = 0; at < bytes; at += kHeld) {
    const std::size_t n = std::min(kHeld, bytes - at);
    std::memcpy(held.data(), a + at, n);
    std::memcpy(a + at, b + at, n);
    std::memcpy(b + at, held.data(), n);
  }
}

}  // namespace

void Exchanges::make(std::uint32_t batch) {
  const std::vector<Exchange>& all = schedule_.in_place.exchanges;
  const auto at = [&](std::uint32_t unit) { return arena_.data() + std::size_t{unit} * kSlotUnit; };
  const std::uint32_t end = schedule_.batch_begin[batch + 1];
  for (; made_ < all.size() && all[made_].emission < end; ++made_) {
    exchange_bytes(at(all[made_].place), at(all[made_].other), plan_.parcel_bytes.front());
  }
}

}  // namespace blksweep
