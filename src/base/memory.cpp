#include "base/memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <utility>

namespace blksweep {
namespace {

constexpr std::uint64_t kHugePage = std::uint64_t{2} << 20;
constexpr std::size_t kPage = 4096;
constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE, Linux 5.14

// The kernel gives zeroes; a memset would write each byte a second time.
void touch(void* at, std::size_t length) {
  if (::madvise(at, length, kPopulateWrite) == 0) {
    return;
  }
  for (std::size_t i = 0; i < length; i += kPage) {
    static_cast<volatile std::byte*>(at)[i] = std::byte{0};
  }
}

}  // namespace

Result<PageBuffer> PageBuffer::allocate(Bytes size) {
  PageBuffer b;
  const std::size_t length = align_up(size.n == 0 ? 1 : size.n, kHugePage);
  void* at = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) {
    return sys_error(errno, "allocate " + format_bytes({length}) + " of buffers");
  }
  b.data_ = static_cast<std::byte*>(at);
  b.size_ = length;
  ::madvise(at, length, MADV_HUGEPAGE);  // only a hint
  // A forked process (node/pin/page_helper.h) would hold them, or have what devices write to
  // copied.
  ::madvise(at, length, MADV_DONTFORK);
  touch(at, length);
  return b;
}

PageBuffer::PageBuffer(PageBuffer&& o) noexcept
    : data_(std::exchange(o.data_, nullptr)), size_(std::exchange(o.size_, 0)) {}

PageBuffer& PageBuffer::operator=(PageBuffer&& o) noexcept {
  std::swap(data_, o.data_);
  std::swap(size_, o.size_);
  return *this;
}

PageBuffer::~PageBuffer() {
  if (data_ != nullptr) {
    ::munmap(data_, size_);
  }
}

}  // namespace blksweep
