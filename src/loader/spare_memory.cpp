#include "loader/spare_memory.h"

#include <utility>

namespace blksweep {
namespace {
constexpr std::uint64_t kMostTimes = 4;
}

SpareMemory::~SpareMemory() { reclaim(); }

// Whatever is kept, if it is this process's.
PageBuffer SpareMemory::reclaim() {
  PageBuffer memory = std::move(kept_);
  if (memory.size() > 0 && owner_ != ::getpid()) {
    memory.release();  // another mapping may be in its place
  }
  return memory;
}

Result<PageBuffer> SpareMemory::take(Bytes size) {
  {
    const std::lock_guard lock(mutex_);
    PageBuffer memory = reclaim();
    if (memory.size() >= size.n && memory.size() / kMostTimes <= size.n) {
      return memory;
    }
  }
  return PageBuffer::allocate(size);
}

void SpareMemory::keep(PageBuffer memory) {
  const std::lock_guard lock(mutex_);
  reclaim();
  kept_ = std::move(memory);
  owner_ = ::getpid();
}

}  // namespace blksweep
