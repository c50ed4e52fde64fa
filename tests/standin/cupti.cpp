// The stand-in's CUPTI: records of what its copies and kernels really did, on the clock that it was
// given. libcupti.so.13 is another name of the stand-in for libcuda.so.1.
#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>

#include "standin/gpu.h"

namespace {

using Request = void (*)(std::uint8_t**, std::size_t*, std::size_t*);
using Complete = void (*)(void*, std::uint32_t, std::uint8_t*, std::size_t, std::size_t);

constexpr int kInvalid = 1, kNoMore = 12;  // CUPTI_ERROR_INVALID_PARAMETER, _MAX_LIMIT_REACHED
constexpr std::uint32_t kMemcpy = 1, kKernel = 10;

// As the real ones begin (tests/gpu/cupti_cuda.cpp); they are longer.
struct Record {
  std::uint32_t kind;
  std::array<std::uint32_t, 3> other;
  std::uint64_t start, end;
  std::array<std::uint64_t, 4> more;
};

struct State {
  std::uint64_t (*time)() = nullptr;
  Request request = nullptr;
  Complete complete = nullptr;
  std::array<bool, kKernel + 1> enabled{};
  std::size_t given = 0;  // of the stand-in's spans
} state;

// Without a clock of the caller's, CUPTI's own is that of the day.
std::int64_t from_monotonic() {
  timespec t{};
  ::clock_gettime(CLOCK_REALTIME, &t);
  const std::int64_t day = std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
  return (state.time == nullptr ? day : static_cast<std::int64_t>(state.time())) - standin::now();
}

std::vector<Record> new_records() {
  standin::Gpu& gpu = standin::Gpu::get();
  const std::lock_guard lock(gpu.mutex);
  const std::int64_t shift = gpu.settings.ns("cupti_shift");
  const std::int64_t clock = from_monotonic();
  std::vector<Record> all;
  for (state.given = std::min(state.given, gpu.spans.size()); state.given < gpu.spans.size();
       ++state.given) {
    const StandinSpan& s = gpu.spans[state.given];
    const std::uint32_t kind = s.kernel != 0 ? kKernel : kMemcpy;
    const std::int64_t moved = clock + (s.kernel != 0 ? shift : 0);
    if (state.enabled[kind]) {
      all.push_back({kind,
                     {},
                     static_cast<std::uint64_t>(s.begin_ns + moved),
                     static_cast<std::uint64_t>(s.end_ns + moved),
                     {}});
    }
  }
  return all;
}

}  // namespace

extern "C" {

int cuptiActivityRegisterTimestampCallback(std::uint64_t (*time)()) {
  state.time = time;
  return 0;
}
int cuptiActivityRegisterCallbacks(Request request, Complete complete) {
  state.request = request;
  state.complete = complete;
  return 0;
}
int cuptiActivityEnable(std::uint32_t kind) {
  if (kind > kKernel || state.request == nullptr) {
    return kInvalid;
  }
  const std::lock_guard lock(standin::Gpu::get().mutex);
  state.given = standin::Gpu::get().spans.size();
  state.enabled[kind] = true;
  return 0;
}
int cuptiActivityDisable(std::uint32_t kind) {
  state.enabled[kind] = false;
  return 0;
}
int cuptiActivityFlushAll(std::uint32_t) {
  const std::vector<Record> all = new_records();
  for (std::size_t at = 0; at < all.size();) {
    std::uint8_t* buffer = nullptr;
    std::size_t bytes = 0, most = 0;
    state.request(&buffer, &bytes, &most);
    const std::size_t count = std::min(all.size() - at, bytes / sizeof(Record));
    std::memcpy(buffer, &all[at], count * sizeof(Record));
    state.complete(nullptr, 0, buffer, bytes, count * sizeof(Record));
    at += count;
  }
  return 0;
}
int cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t valid, void** record) {
  std::uint8_t* const next =
      *record == nullptr ? buffer : static_cast<std::uint8_t*>(*record) + sizeof(Record);
  if (next + sizeof(Record) > buffer + valid) {
    return kNoMore;
  }
  *record = next;
  return 0;
}
int cuptiActivityGetNumDroppedRecords(void*, std::uint32_t, std::size_t* dropped) {
  *dropped = 0;
  return 0;
}
}
