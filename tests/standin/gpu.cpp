#include "standin/gpu.h"

#include <signal.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace standin {
namespace {

constexpr Ns kClockStep = 500;
constexpr std::size_t kMostSpans = 1'000'000;

void sleep_until(Ns deadline) {
  const timespec at{deadline / 1'000'000'000, deadline % 1'000'000'000};
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr) != 0) {
  }
}

void set_from_environment(Settings& settings) {
  if (const char* const text = std::getenv("STANDIN_GPU"); text != nullptr) {
    settings.set(text);
  }
}

}  // namespace

Ns now() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return Ns{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

Gpu& Gpu::get() {
  static auto* const gpu = new Gpu();  // outlives the threads of streams that are left
  return *gpu;
}

Gpu::Gpu() { set_from_environment(settings); }

void Gpu::reset() {
  settings = Settings();
  set_from_environment(settings);
  complaints.clear();
  spans.clear();
  dead = 0;
}

void Gpu::complain(const std::string& what) {
  if (!settings.on("keep")) {
    std::fprintf(stderr, "standin: %s\n", what.c_str());
    std::abort();
  }
  complaints += what + "\n";
}

Ns Gpu::device_ns(Ns host_ns) const {
  const double own =
      static_cast<double>(settings.ns("offset")) + static_cast<double>(host_ns) * settings["drift"];
  return (host_ns + static_cast<Ns>(own)) / kClockStep * kClockStep;
}

Stream* Gpu::stream_of(const void* handle) const {
  const auto known = std::find_if(streams.begin(), streams.end(),
                                  [&](const auto& s) { return s.get() == handle; });
  return known == streams.end() ? nullptr : known->get();
}

std::shared_ptr<Event> Gpu::event_of(const void* handle) const {
  const auto known =
      std::find_if(events.begin(), events.end(), [&](const auto& e) { return e.get() == handle; });
  return known == events.end() ? nullptr : *known;
}

void Gpu::issue(Stream& stream, Operation operation, Ns at) {
  operation.issued = at;
  operation.number = ++issued_;
  stream.queue.push_back(std::move(operation));
  if (!stream.thread.joinable()) {
    sigset_t all, before;
    ::sigfillset(&all);  // signals are the program's
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    stream.thread = std::thread([this, &stream] { run(stream); });
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  stream.fed.notify_one();
}

void Gpu::run(Stream& stream) {
  ::prctl(PR_SET_TIMERSLACK, 1UL);
  std::unique_lock lock(mutex);
  for (;;) {
    stream.fed.wait(lock, [&] { return stream.closing || !stream.queue.empty(); });
    if (stream.queue.empty()) {
      return;
    }
    Operation& op = stream.queue.front();
    if (dead == 0) {
      perform(stream, op, lock);
    } else if (op.event && op.kind == Operation::Kind::record) {
      op.event->passed = op.record;
    }
    stream.queue.pop_front();
    ended.notify_all();
  }
}

void Gpu::perform(Stream& stream, Operation& op, std::unique_lock<std::mutex>& lock) {
  Ns begin = std::max(op.issued + settings.ns("launch"), stream.last_end);
  if (op.kind == Operation::Kind::wait) {
    ended.wait(lock, [&] { return op.event->passed >= op.record || dead != 0; });
    begin = std::max(begin, op.event->at);
  }
  if (op.kind == Operation::Kind::copy) {
    begin = std::max(begin, copy_engine_free_);
    copy_engine_free_ = begin + op.takes;
  }
  conflicts(op, &stream);
  const Failure* const failure = settings.use(op.what);
  const Ns end = begin + op.takes;
  lock.unlock();
  sleep_until(end);
  if (op.effect) {
    op.effect();
  }
  lock.lock();
  dead = failure != nullptr ? failure->error : dead.load();
  stream.last_end = end;
  if (op.kind == Operation::Kind::record) {
    op.event->passed = op.record;
    op.event->at = end;
  }
  if (op.kind == Operation::Kind::kernel || op.kind == Operation::Kind::copy) {
    spans.push_back({op.kind == Operation::Kind::kernel ? 1 : 0, begin, end});
    if (spans.size() > kMostSpans) {
      spans.erase(spans.begin(), spans.begin() + kMostSpans / 2);
    }
  }
}

// What was issued earlier on another stream and has not ended is not ordered before this.
void Gpu::conflicts(const Operation& op, const Stream* own) {
  for (const auto& stream : streams) {
    for (const Operation& other : stream->queue) {
      if (stream.get() == own || other.number >= op.number) {
        continue;
      }
      for (const Touch& a : op.touches) {
        for (const Touch& b : other.touches) {
          if (a.range.overlaps(b.range) && (a.writes || b.writes)) {
            complain(std::string("a ") + op.what + " does not wait for a " + other.what +
                     " of another stream that uses the same memory");
          }
        }
      }
    }
  }
}

void Gpu::wait_idle(std::unique_lock<std::mutex>& lock, const Stream* only) {
  ended.wait(lock, [&] {
    return std::all_of(streams.begin(), streams.end(), [&](const auto& s) {
      return (only != nullptr && s.get() != only) || s->queue.empty();
    });
  });
}

void Gpu::wait_before_release(const Range& range, const char* how,
                              std::unique_lock<std::mutex>& lock) {
  for (const auto& stream : streams) {
    for (const Operation& op : stream->queue) {
      const bool source = std::any_of(op.sources.begin(), op.sources.end(),
                                      [&](const Range& r) { return r.overlaps(range); });
      const bool touched = std::any_of(op.touches.begin(), op.touches.end(),
                                       [&](const Touch& t) { return t.range.overlaps(range); });
      if (dead == 0 && (source || touched)) {
        complain(std::string(how) + " of memory that a " + op.what +
                 " in flight uses: the driver waits for it");
      }
    }
  }
  wait_idle(lock);
}

void Gpu::check_source(const Range& source, const std::vector<std::byte>& then) {
  const bool there = mapped(source);
  const bool same = there && std::memcmp(reinterpret_cast<const void*>(source.begin), then.data(),
                                         then.size()) == 0;
  const std::lock_guard lock(mutex);
  if (!there) {
    complain("the source of a copy was freed before it ran");
  } else if (!same) {
    complain("the source of a copy was changed before it ran");
  } else if (!pinned.holds(source)) {
    complain("the source of a copy was unpinned before it ran");
  }
}

}  // namespace standin
