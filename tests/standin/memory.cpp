#include "standin/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

namespace standin {
namespace {

constexpr std::uintptr_t kPage = 4096;

void* map(std::size_t bytes, int protection) {
  void* const at =
      ::mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return at == MAP_FAILED ? nullptr : at;
}

}  // namespace

Range range_of(const void* p, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(p);
  return {begin, begin + bytes};
}

bool mapped(const Range& range) {
  const std::uintptr_t begin = range.begin / kPage * kPage;
  const std::size_t pages = (range.end - begin + kPage - 1) / kPage;
  std::vector<unsigned char> resident(pages);
  return ::mincore(reinterpret_cast<void*>(begin), range.end - begin, resident.data()) == 0;
}

std::uintptr_t DeviceMemory::allocate(std::size_t bytes, std::size_t capacity) {
  const std::size_t whole = (bytes + kPage - 1) / kPage * kPage;
  if (bytes > capacity || used_ + bytes > capacity) {
    return 0;
  }
  void* const address = map(whole, PROT_NONE);
  void* const shadow = map(whole, PROT_READ | PROT_WRITE);
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  all_[at] = {bytes, whole, static_cast<std::byte*>(shadow)};
  used_ += bytes;
  return at;
}

bool DeviceMemory::free(std::uintptr_t begin) {
  const auto known = all_.find(begin);
  if (known == all_.end()) {
    return false;
  }
  ::munmap(reinterpret_cast<void*>(begin), known->second.mapped);
  ::munmap(known->second.shadow, known->second.mapped);
  used_ -= known->second.bytes;
  all_.erase(known);
  return true;
}

std::byte* DeviceMemory::bytes_of(const Range& range) const {
  auto next = all_.upper_bound(range.begin);
  if (next == all_.begin()) {
    return nullptr;
  }
  const auto& [begin, a] = *--next;
  return range.end <= begin + a.bytes ? a.shadow + (range.begin - begin) : nullptr;
}

Range DeviceMemory::allocation(std::uintptr_t begin) const {
  const auto known = all_.find(begin);
  return known == all_.end() ? Range{} : Range{begin, begin + known->second.bytes};
}

bool PinnedRanges::overlaps(const Range& range) const {
  return std::any_of(all_.begin(), all_.end(),
                     [&](const auto& p) { return p.second.range.overlaps(range); });
}

bool PinnedRanges::holds(const Range& range) const {
  return std::any_of(all_.begin(), all_.end(),
                     [&](const auto& p) { return p.second.range.holds(range); });
}

Range PinnedRanges::find(const void* begin, Pin how) const {
  const auto known = all_.find(reinterpret_cast<std::uintptr_t>(begin));
  return known == all_.end() || known->second.how != how ? Range{} : known->second.range;
}

}  // namespace standin
