// The stand-in's GPU: streams that run their operations one behind the other on threads of their
// own, by times that do not depend on when those threads wake up.
//
// Threads: all state is behind `mutex`; what an operation does to memory runs without it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "standin/memory.h"
#include "standin/settings.h"
#include "standin/standin.h"

namespace standin {

struct Event {
  bool timed = true;
  std::uint64_t recorded = 0, passed = 0;  // which record; 0: none
  Ns at = 0;                               // CLOCK_MONOTONIC
};

// What it touches: of the GPU's memory, or of the host's as a source.
struct Touch {
  Range range;
  bool writes = false;
};

struct Operation {
  const char* what = "";
  enum class Kind { copy, kernel, record, wait } kind = Kind::copy;
  Ns takes = 0;
  std::function<void()> effect = {};  // at its end
  std::vector<Touch> touches = {};
  std::vector<Range> sources = {};  // of the host's
  std::shared_ptr<Event> event = {};
  std::uint64_t record = 0;  // of the event
  Ns issued = 0;
  std::uint64_t number = 0;
};

struct Stream {
  std::deque<Operation> queue;
  Ns last_end = 0;
  bool closing = false;
  std::condition_variable fed;
  std::thread thread;
};

class Gpu {
 public:
  static Gpu& get();

  // --- with the mutex held
  void complain(const std::string& what);
  // REQUIRES: `stream` is one of ours. `at`: when the call that issues it began.
  void issue(Stream& stream, Operation operation, Ns at);
  Stream* stream_of(const void* handle) const;
  std::shared_ptr<Event> event_of(const void* handle) const;
  // Complains where an operation that has not ended uses the range, then waits for all streams.
  void wait_before_release(const Range& range, const char* how, std::unique_lock<std::mutex>& lock);
  void wait_idle(std::unique_lock<std::mutex>& lock, const Stream* only = nullptr);
  void conflicts(const Operation& op, const Stream* own);
  Ns device_ns(Ns host_ns) const;  // its own clock
  void reset();

  std::mutex mutex;
  std::condition_variable ended;  // an operation
  Settings settings;
  DeviceMemory memory;
  PinnedRanges pinned;
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<std::shared_ptr<Event>> events;
  std::string complaints;
  std::string complaints_told;
  std::vector<StandinSpan> spans;
  std::atomic<int> dead{0};  // the error that every call ends with; 0: none

  // --- without it
  // Whether the source is what it was when the copy was issued.
  void check_source(const Range& source, const std::vector<std::byte>& then);

 private:
  Gpu();
  void run(Stream& stream);
  void perform(Stream& stream, Operation& op, std::unique_lock<std::mutex>& lock);

  Ns copy_engine_free_ = 0;
  std::uint64_t issued_ = 0;
};

Ns now();

}  // namespace standin
