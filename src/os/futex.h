// futex: a word of memory that threads of this process wait on, for a bounded time where one is
// given; std::atomic waits for ever only (in C++20).
//
// Threads: any. Source: futex(2).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

namespace blksweep {

// Sleeps while the word has that value, until it is woken, a signal comes or the time is up.
void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t value,
                std::optional<std::chrono::nanoseconds> most);
void futex_wake_all(const std::atomic<std::uint32_t>& word);

}  // namespace blksweep
