#include "os/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace blksweep {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

const std::uint32_t* address_of(const std::atomic<std::uint32_t>& word) {
  static_assert(sizeof(word) == sizeof(std::uint32_t));
  return reinterpret_cast<const std::uint32_t*>(&word);
}

}  // namespace

void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t value,
                std::optional<std::chrono::nanoseconds> most) {
  const std::int64_t ns = most ? most->count() : 0;
  const timespec time{ns / kSecond, ns % kSecond};
  // Its errors are reasons to look again: the word has changed, a signal, the time is up.
  ::syscall(SYS_futex, address_of(word), FUTEX_WAIT_PRIVATE, value, most ? &time : nullptr);
}

void futex_wake_all(const std::atomic<std::uint32_t>& word) {
  ::syscall(SYS_futex, address_of(word), FUTEX_WAKE_PRIVATE, INT_MAX);
}

}  // namespace blksweep
