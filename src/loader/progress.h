// What a progress line shows: written by the run with relaxed atomics, printed by another thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace blksweep {

struct Progress {
  std::atomic<const char*> phase{""};                       // "reading", "fio twin" ...: a literal
  std::atomic<std::size_t> run{0}, runs{0};                 // 1-based; 0: not begun
  std::atomic<std::uint64_t> samples{0}, samples_total{0};  // of the run in progress
  // Where `runs` is what is expected so far: intervals that are narrow enough, of how many; else 0.
  std::atomic<std::size_t> narrow{0}, intervals{0};
  std::atomic<std::int64_t> deadline_ns{0};  // CLOCK_MONOTONIC, of no further round; 0: none

  void begin_run(std::size_t number, std::size_t of) {
    phase.store("planning", std::memory_order_relaxed);
    samples.store(0, std::memory_order_relaxed);
    run.store(number, std::memory_order_relaxed);
    runs.store(of, std::memory_order_relaxed);
  }
};

}  // namespace blksweep
