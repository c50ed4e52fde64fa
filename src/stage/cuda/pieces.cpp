#include "stage/cuda/pieces.h"

#include <numeric>

namespace blksweep {
namespace {

constexpr std::size_t kCutAlign = 4096;

void cut(Pieces& p, std::size_t at, std::size_t first_bytes) {
  const auto i = static_cast<std::ptrdiff_t>(at);
  const auto* const from = static_cast<const std::byte*>(p.from[at]) + first_bytes;
  auto* const to = static_cast<std::byte*>(p.to[at]) + first_bytes;
  p.from.insert(p.from.begin() + i + 1, from);
  p.to.insert(p.to.begin() + i + 1, to);
  p.bytes.insert(p.bytes.begin() + i + 1, p.bytes[at] - first_bytes);
  p.bytes[at] = first_bytes;
}

}  // namespace

void Pieces::reserve(std::size_t n) {
  from.reserve(n);
  to.reserve(n);
  bytes.reserve(n);
}

void Pieces::clear() {
  from.clear();
  to.clear();
  bytes.clear();
}

void Pieces::add(const std::byte* source, std::byte* target, std::size_t length) {
  if (length == 0) {
    return;
  }
  if (size() > 0 && static_cast<const std::byte*>(from.back()) + bytes.back() == source &&
      static_cast<std::byte*>(to.back()) + bytes.back() == target) {
    bytes.back() += length;
    return;
  }
  from.push_back(source);
  to.push_back(target);
  bytes.push_back(length);
}

void share_out(Pieces& p, std::size_t lanes, std::vector<std::size_t>& ends) {
  ends.clear();
  const std::size_t all = std::accumulate(p.bytes.begin(), p.bytes.end(), std::size_t{0});
  std::size_t next = 0;  // piece
  std::size_t given = 0;
  for (std::size_t lane = 1; lane < lanes; ++lane) {
    const std::size_t border = all / lanes * lane;
    while (next < p.size() && given + p.bytes[next] <= border) {
      given += p.bytes[next++];
    }
    const std::size_t before = (border - given) / kCutAlign * kCutAlign;
    if (next < p.size() && before >= kShareGranule && p.bytes[next] - before >= kShareGranule) {
      cut(p, next, before);
      given += p.bytes[next++];
    } else if (next < p.size() && (border - given) * 2 > p.bytes[next]) {
      given += p.bytes[next++];  // most of it lies before the border
    }
    ends.push_back(next);
  }
  ends.push_back(p.size());
}

}  // namespace blksweep
