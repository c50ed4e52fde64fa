#include "loader/memory_check.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "os/memory/memory_room.h"

namespace blksweep {

NodeMemory node_memory() {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return {{static_cast<std::uint64_t>(::sysconf(_SC_AVPHYS_PAGES)) * page},
          {static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * page},
          memory_room().cgroup_limit};
}

Result<> check_memory(std::initializer_list<Bytes> buffers, const LoaderSettings& settings,
                      const NodeMemory& node) {
  Bytes sum{0};
  for (const Bytes one : buffers) {
    sum.n += one.n;
  }
  const bool cgroup_has_less = node.limit && sum.n >= node.limit->n;
  if (!cgroup_has_less && sum.n <= std::max(node.free.n, node.all.n / 10 * 8)) {
    return {};
  }
  return fail(
      fmt::format("the window needs {} of buffers, {} {}: use a smaller {}", format_bytes(sum),
                  cgroup_has_less ? "the limit of this process's cgroup is" : "this node has",
                  format_bytes(cgroup_has_less ? *node.limit : node.all),
                  settings.workers > 0 ? "--batch or --prefetch, or fewer workers"
                                       : "--window, --depth or --merge-max"));
}

}  // namespace blksweep
