#include "gpu/cupti.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <utility>

#include "base/clock.h"
#include "base/memory.h"
#include "stage/cuda/cuda_stage.h"
#include "stats/overlap.h"
#if __has_include(<cupti.h>)
#include <cupti.h>
#endif

namespace blksweep {
namespace {

constexpr std::uint32_t kMemcpy = 1, kConcurrentKernel = 10;  // CUpti_ActivityKind
constexpr std::uint32_t kForced = 1;                          // CUpti_ActivityFlag: all of them
constexpr std::size_t kBufferBytes = std::size_t{1} << 20;

// What every CUpti_ActivityMemcpy* and CUpti_ActivityKernel* (from the fourth on) begins with.
struct Record {
  std::uint32_t kind;
  std::array<std::uint32_t, 3> other;
  std::uint64_t start, end;
};
#if defined(CUPTI_API_VERSION) && CUPTI_API_VERSION / 10000 == 13
static_assert(offsetof(CUpti_ActivityMemcpy6, start) == offsetof(Record, start) &&
              offsetof(CUpti_ActivityMemcpy6, end) == offsetof(Record, end) &&
              offsetof(CUpti_ActivityKernel10, start) == offsetof(Record, start) &&
              offsetof(CUpti_ActivityKernel10, end) == offsetof(Record, end) &&
              CUPTI_ACTIVITY_KIND_MEMCPY == kMemcpy &&
              CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL == kConcurrentKernel);
#endif

// Every function returns 0 for success.
struct Calls {
  int (*on_time)(std::uint64_t (*)()) = nullptr;
  int (*on_buffers)(void (*)(std::uint8_t**, std::size_t*, std::size_t*),
                    void (*)(void*, std::uint32_t, std::uint8_t*, std::size_t,
                             std::size_t)) = nullptr;
  int (*enable)(std::uint32_t) = nullptr;
  int (*disable)(std::uint32_t) = nullptr;
  int (*flush)(std::uint32_t) = nullptr;
  int (*next)(std::uint8_t*, std::size_t, void**) = nullptr;
  int (*dropped)(void*, std::uint32_t, std::size_t*) = nullptr;
};

// The library calls back without a word of whom it calls for.
Calls calls;
std::mutex records_mutex;
std::vector<Record> records;
std::size_t dropped = 0;

std::uint64_t monotonic() { return static_cast<std::uint64_t>(now_ns()); }

void give_buffer(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records) {
  *buffer = new (std::align_val_t{8}) std::uint8_t[kBufferBytes];
  *bytes = kBufferBytes;
  *most_records = 0;  // as many as there is room for
}

void take_buffer(void* context, std::uint32_t stream, std::uint8_t* buffer, std::size_t /*bytes*/,
                 std::size_t valid) {
  const std::lock_guard lock(records_mutex);
  for (void* at = nullptr; valid > 0 && calls.next(buffer, valid, &at) == 0;) {
    Record r{};
    std::memcpy(&r.kind, at, sizeof r.kind);
    if (r.kind == kMemcpy || r.kind == kConcurrentKernel) {
      std::memcpy(&r, at, sizeof r);
      records.push_back(r);
    }
  }
  if (std::size_t more = 0; calls.dropped(context, stream, &more) == 0) {
    dropped += more;
  }
  ::operator delete[](buffer, std::align_val_t{8});
}

void* find_library() {
  for (const char* const name :
       {"libcupti.so.13", "libcupti.so.12", "libcupti.so",
        "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so", "/usr/local/cuda/lib64/libcupti.so"}) {
    if (void* const library = ::dlopen(name, RTLD_NOW); library != nullptr) {
      return library;  // for good: its threads go on
    }
  }
  return nullptr;
}

template <class F>
bool find(void* library, F& function, const char* symbol) {
  function = reinterpret_cast<F>(::dlsym(library, symbol));
  return function != nullptr;
}

Result<> find_calls() {
  void* const library = find_library();
  if (library == nullptr) {
    return unsupported("no libcupti.so (it comes with the CUDA toolkit)");
  }
  if (!find(library, calls.on_time, "cuptiActivityRegisterTimestampCallback") ||
      !find(library, calls.on_buffers, "cuptiActivityRegisterCallbacks") ||
      !find(library, calls.enable, "cuptiActivityEnable") ||
      !find(library, calls.disable, "cuptiActivityDisable") ||
      !find(library, calls.flush, "cuptiActivityFlushAll") ||
      !find(library, calls.next, "cuptiActivityGetNextRecord") ||
      !find(library, calls.dropped, "cuptiActivityGetNumDroppedRecords")) {
    return unsupported("libcupti.so lacks functions (it has to be of CUDA 11.6 or later)");
  }
  return {};
}

Result<> done(int result, const char* call) {
  return result == 0 ? Result<>() : fail(fmt::format("{} fails with {}", call, result));
}

// What our own clock says of the batches, and CUPTI's records beside it.
struct Measured {
  std::vector<TimeSpan> copies, kernels;  // CLOCK_MONOTONIC, one a batch
  DeviceWork work;
};

Result<> finish_batch(CopyStage& copy, Consumer& consumer, std::uint32_t b, Measured& m) {
  BLKSWEEP_TRY(const CopyTimes copied, copy.finish(b));
  m.copies.push_back(copied.transfer);
  const auto slices = copy.slices(b);
  m.work.transfers.insert(m.work.transfers.end(), slices.begin(), slices.end());
  BLKSWEEP_TRY(const ComputeTimes used, consumer.finish(b));
  m.kernels.push_back(used.host);
  m.work.kernels.push_back({used.device, b, 0});
  return copy.release(b);
}

// A batch is copied while the one before is used.
Result<Measured> measure(CopyStage& copy, Consumer& consumer, const CuptiRun& run,
                         std::span<const BatchPart> parts) {
  Measured m;
  for (std::uint32_t b = 0; b < run.batches; ++b) {
    BLKSWEEP_CHECK(copy.begin(b, parts));
    const auto arrival = copy.arrival(b);
    if (!arrival) {
      return fail("the copy has no event that a kernel can wait for");
    }
    BLKSWEEP_CHECK(consumer.launch(b, run.takes, *arrival));
    if (b > 0) {
      BLKSWEEP_CHECK(finish_batch(copy, consumer, b - 1, m));
    }
  }
  BLKSWEEP_CHECK(finish_batch(copy, consumer, run.batches - 1, m));
  return m;
}

std::int64_t both_of(const DeviceWork& work, const TimeSpan& epoch) {
  return overlap_of({epoch, work.transfers, work.kernels}).both;
}

DeviceWork work_of(const CuptiRecords& r) {
  DeviceWork work;
  for (const TimeSpan& s : r.copies) {
    work.transfers.push_back({s, 0, 0, 0});
  }
  for (const TimeSpan& s : r.kernels) {
    work.kernels.push_back({s, 0, 0});
  }
  return work;
}

}  // namespace

Result<Cupti> Cupti::start() {
  BLKSWEEP_CHECK(find_calls());
  {
    const std::lock_guard lock(records_mutex);
    records.clear();
    dropped = 0;
  }
  Cupti c;
  // The clock first: records are on the one that is there when their kind is enabled.
  BLKSWEEP_CHECK(done(calls.on_time(monotonic), "cuptiActivityRegisterTimestampCallback"));
  BLKSWEEP_CHECK(
      done(calls.on_buffers(give_buffer, take_buffer), "cuptiActivityRegisterCallbacks"));
  c.running_ = true;
  BLKSWEEP_CHECK(done(calls.enable(kMemcpy), "cuptiActivityEnable of copies"));
  BLKSWEEP_CHECK(done(calls.enable(kConcurrentKernel), "cuptiActivityEnable of kernels"));
  return c;
}

Cupti::Cupti(Cupti&& other) noexcept : running_(std::exchange(other.running_, false)) {}

Cupti::~Cupti() {
  if (running_) {
    calls.disable(kMemcpy);
    calls.disable(kConcurrentKernel);
  }
}

Result<CuptiRecords> Cupti::stop(std::int64_t since) {
  BLKSWEEP_CHECK(done(calls.flush(kForced), "cuptiActivityFlushAll"));
  BLKSWEEP_CHECK(done(calls.disable(kMemcpy), "cuptiActivityDisable of copies"));
  BLKSWEEP_CHECK(done(calls.disable(kConcurrentKernel), "cuptiActivityDisable of kernels"));
  running_ = false;
  const std::lock_guard lock(records_mutex);
  if (dropped > 0) {
    return fail(fmt::format("CUPTI dropped {} records", dropped));
  }
  CuptiRecords r;
  for (const Record& record : records) {
    const TimeSpan span{static_cast<std::int64_t>(record.start),
                        static_cast<std::int64_t>(record.end)};
    if (span.begin >= since) {
      (record.kind == kMemcpy ? r.copies : r.kernels).push_back(span);
    }
  }
  std::ranges::sort(r.copies, {}, &TimeSpan::begin);
  std::ranges::sort(r.kernels, {}, &TimeSpan::begin);
  return r;
}

double CuptiReport::overlap_off() const {
  return cupti_both_ns == 0 ? 1
                            : std::abs(static_cast<double>(both_ns - cupti_both_ns)) /
                                  static_cast<double>(cupti_both_ns);
}

Result<CuptiReport> check_with_cupti(const CuptiRun& run) {
  BLKSWEEP_TRY(Cupti cupti, Cupti::start());
  BLKSWEEP_TRY(PageBuffer arena, PageBuffer::allocate({run.parts * (run.part_bytes + 512)}));
  CudaCopySettings s;
  s.batch_bytes = {run.parts * run.part_bytes};
  s.batch_parts = run.parts;
  s.arena = arena.span();
  BLKSWEEP_TRY(const auto copy, make_cuda_copy(s));
  BLKSWEEP_TRY(
      const auto consumer,
      make_cuda_consumer({.device = 0, .kind = ConsumerKind::cuda_memory, .typical = run.takes}));
  // Parts with gaps between them, as in the window.
  std::vector<BatchPart> parts;
  for (std::uint32_t p = 0; p < run.parts; ++p) {
    parts.push_back({arena.data() + p * (run.part_bytes + 512), run.part_bytes});
  }
  BLKSWEEP_CHECK(consumer->warm_up());
  BLKSWEEP_CHECK(copy->warm_up());
  const std::int64_t begin = now_ns();
  BLKSWEEP_TRY(const Measured ours, measure(*copy, *consumer, run, parts));
  BLKSWEEP_TRY(const CuptiRecords theirs, cupti.stop(begin));
  CuptiReport report;
  report.error_ns = copy->alignment().value_or(ClockAlignment{}).error_ns;
  const std::int64_t reach = report.error_ns + kWayToWork;
  report.copies = compare_edges(ours.copies, theirs.copies, reach);
  report.kernels = compare_edges(ours.kernels, theirs.kernels, reach);
  const TimeSpan epoch{begin, now_ns()};
  report.both_ns = both_of(ours.work, epoch);
  report.cupti_both_ns = both_of(work_of(theirs), epoch);
  return report;
}

}  // namespace blksweep
