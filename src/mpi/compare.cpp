#include "mpi/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "loader/verify.h"

namespace blksweep {
namespace {

constexpr std::size_t kAtOnce = 512;  // samples, between two signs of life

Verification compare_some(const Catalog& catalog, const DeliveredBytes& bytes) {
  Plan plan;
  for (const std::uint64_t one : bytes.delivered) {
    plan.order.push_back(static_cast<std::uint32_t>(one));
  }
  std::vector<std::uint32_t> positions(plan.order.size());
  std::iota(positions.begin(), positions.end(), 0U);
  return check_hashes(catalog, plan, {positions, bytes.hashes, Delivered::as_stored});
}

}  // namespace

Compared compare_with_files(const Catalog& catalog, const DeliveredBytes& bytes,
                            const std::string& whose, const std::function<void()>& got_on) {
  Verification all;
  for (std::size_t from = 0; from < bytes.delivered.size(); from += kAtOnce) {
    const std::size_t n = std::min(kAtOnce, bytes.delivered.size() - from);
    Verification found =
        compare_some(catalog, {bytes.delivered.subspan(from, n), bytes.hashes.subspan(from, n)});
    all.wrong += found.wrong;
    if (all.named.empty()) {
      all.named = std::move(found.named);
    }
    got_on();
  }
  if (all.wrong == 0) {
    return {};
  }
  const WrongSample& first = all.named.front();
  return {all.wrong, fmt::format("{} are not as in {}, such as {}: {}",
                                 all.wrong == 1 ? "1 sample's bytes"
                                                : fmt::format("{} samples' bytes", all.wrong),
                                 whose, first.path, first.why)};
}

std::vector<Compared> compare_with_first(const Comm& comm, const Catalog& catalog,
                                         const DeliveredBytes& mine,
                                         const std::function<void()>& got_on) {
  const auto delivered = comm.gather(mine.delivered);
  const auto hashes = comm.gather(mine.hashes);
  std::vector<Compared> found;
  for (std::size_t rank = 0; rank < delivered.size(); ++rank) {
    found.push_back(
        compare_with_files(catalog, {delivered[rank], hashes[rank]}, "rank 0's files", got_on));
  }
  return found;
}

}  // namespace blksweep
