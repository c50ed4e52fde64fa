#include "node/pin/pin.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/rng.h"

namespace blksweep {
namespace {

constexpr std::uint64_t kShareStream = 77;

std::uint64_t address_of(const Catalog& catalog, std::uint32_t file) {
  const auto extents = catalog.extents_of(file);
  return extents.empty() || !extents.front().has_address() ? ~std::uint64_t{0}
                                                           : extents.front().device_offset;
}

}  // namespace

void PinCount::add(const PinCount& part) {
  files += part.files;
  failed += part.failed;
  folders += part.folders;
  bytes.n += part.bytes.n;
  if (first_error.empty()) {
    first_error = part.first_error;
  }
}

std::vector<std::uint32_t> draw_share(std::span<const std::uint64_t> sizes, double percent,
                                      std::uint64_t seed) {
  std::vector<std::uint32_t> files(sizes.size());
  std::iota(files.begin(), files.end(), 0U);
  if (percent >= 100) {
    return files;
  }
  Rng rng(seed, kShareStream);
  shuffle(std::span(files), rng);
  const double total = std::accumulate(sizes.begin(), sizes.end(), 0.0);
  const double wanted = total * std::max(percent, 0.0) / 100;
  double sum = 0;
  std::size_t taken = 0;
  while (taken < files.size() && sum < wanted) {
    const auto size = static_cast<double>(sizes[files[taken]]);
    if (std::abs(sum + size - wanted) >= wanted - sum && size > 0) {
      break;
    }
    sum += size;
    ++taken;
  }
  files.resize(taken);
  std::ranges::sort(files);
  return files;
}

std::vector<std::uint32_t> files_for_share(const Catalog& catalog, double percent,
                                           std::uint64_t seed) {
  std::vector<std::uint64_t> sizes(catalog.files.size());
  std::ranges::transform(catalog.files, sizes.begin(), &FileRecord::size);
  std::vector<std::uint32_t> files = draw_share(sizes, percent, seed);
  std::ranges::stable_sort(files, {}, [&](std::uint32_t f) { return address_of(catalog, f); });
  return files;
}

}  // namespace blksweep
