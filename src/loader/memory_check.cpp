#include "loader/memory_check.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

namespace blksweep {

NodeMemory node_memory() {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return {{static_cast<std::uint64_t>(::sysconf(_SC_AVPHYS_PAGES)) * page},
          {static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * page}};
}

Result<> check_memory(std::initializer_list<Bytes> buffers, const LoaderSettings& settings,
                      const NodeMemory& node) {
  Bytes sum{0};
  for (const Bytes one : buffers) {
    sum.n += one.n;
  }
  if (sum.n <= std::max(node.free.n, node.all.n / 10 * 8)) {
    return {};
  }
  return fail(fmt::format("the window needs {} of buffers, this node has {}: use a smaller {}",
                          format_bytes(sum), format_bytes(node.all),
                          settings.workers > 0 ? "--batch or --prefetch, or fewer workers"
                                               : "--window, --depth or --merge-max"));
}

}  // namespace blksweep
