// Measures the CUDA stages against a plain pinned cuMemcpyHtoDAsync of the same size in the same
// run.
//   gpu_bench_cuda node|copies|cuda|cuda-memory|gemm|cupti
// Prints one line per figure: name, value, the bar it is held to, pass or FAIL. Exit 77 without a
// GPU, 1 on an error; a figure below its bar is no error.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "base/clock.h"
#include "gpu/cupti.h"
#include "stage/cuda/cuda_stage.h"
#include "stage/cuda/device_cuda.h"

namespace blksweep {
namespace {

constexpr std::uint64_t kPartBytes = std::uint64_t{128} << 10;
constexpr std::uint32_t kParts = 256;
constexpr std::uint64_t kBatchBytes = kPartBytes * kParts;
constexpr std::uint32_t kBatches = 100;
constexpr std::uint32_t kSlots = 3;

void line(const std::string& name, const std::string& value, const char* bar = "",
          const char* verdict = "") {
  fmt::print("{:<44} {:>14}  {:<18} {}\n", name, value, bar, verdict);
}
const char* verdict(bool passed) { return passed ? "pass" : "FAIL"; }

// GB/s of kBatches copies of one batch's size, one behind the other, from cuMemHostAlloc memory.
Result<double> plain_rate() {
  BLKSWEEP_TRY(const PinnedMemory host, pinned_memory(kBatchBytes));
  BLKSWEEP_TRY(const auto device, device_memory<std::byte>(kBatchBytes, {"a batch", "free some"}));
  BLKSWEEP_TRY(const Stream stream, make_stream());
  std::int64_t begin = 0;
  for (std::uint32_t i = 0; i <= kBatches; ++i) {
    if (i == 1) {  // the first one warms up
      BLKSWEEP_CHECK(cuda_result(cuda_driver().stream_wait(stream.get()), "cuStreamSynchronize"));
      begin = now_ns();
    }
    BLKSWEEP_CHECK(cuda_result(
        cuda_driver().copy_to_device(on_gpu(device.get()), host.get(), kBatchBytes, stream.get()),
        "cuMemcpyHtoDAsync"));
  }
  BLKSWEEP_CHECK(cuda_result(cuda_driver().stream_wait(stream.get()), "cuStreamSynchronize"));
  return double{kBatchBytes} * kBatches / static_cast<double>(now_ns() - begin);
}

struct StageFigures {
  double rate = 0;         // GB/s, wall clock
  double cpu_us_part = 0;  // of the copy thread
  ClockAlignment clock;
  std::string means;
};

// As the copy thread does it: the next batch begins before this one is waited for.
Result<StageFigures> stage_figures(CudaCopySettings s, std::span<std::byte> arena) {
  s.batch_bytes = {kBatchBytes};
  s.batch_parts = kParts;
  s.arena = arena;
  BLKSWEEP_TRY(const auto copy, make_cuda_copy(s));
  // Parts with gaps between them, as in the window: 512 bytes that nobody wants.
  std::vector<BatchPart> parts;
  for (std::uint32_t p = 0; p < kParts; ++p) {
    parts.push_back({arena.data() + p * (kPartBytes + 512), kPartBytes});
  }
  BLKSWEEP_CHECK(copy->warm_up());
  const std::uint32_t ahead = copy->in_flight();
  std::int64_t begin = 0, cpu = 0;
  std::uint32_t begun = 0;
  for (std::uint32_t b = 0; b <= kBatches; ++b) {
    if (b == 1) {
      begin = now_ns();
      cpu = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
    }
    for (; begun <= kBatches && begun < b + ahead; ++begun) {
      BLKSWEEP_CHECK(copy->begin(begun, parts));
    }
    BLKSWEEP_TRY([[maybe_unused]] const CopyTimes times, copy->finish(b));
    BLKSWEEP_CHECK(copy->release(b));
  }
  StageFigures f;
  f.rate = double{kBatchBytes} * kBatches / static_cast<double>(now_ns() - begin);
  f.cpu_us_part = static_cast<double>(cpu_ns(CLOCK_THREAD_CPUTIME_ID) - cpu) / 1e3 /
                  (double{kBatches} * kParts);
  f.clock = copy->alignment().value_or(ClockAlignment{});
  f.means = copy->means();
  return f;
}

enum class Held { no, to_bars, worse };
struct Variant {
  const char* name;
  Held held;
  CudaCopySettings settings = {};
};

std::vector<Variant> variants() {
  std::vector<Variant> all{{"pinned, one call", Held::to_bars},
                           {"pinned, a call per part", Held::no},
                           {"pinned, 2 streams", Held::no},
                           {"pinned, 4 streams", Held::no},
                           {"pinned, 1 slot (blocking)", Held::worse},
                           {"pageable", Held::worse},
                           {"register", Held::no},
                           {"per-batch", Held::no}};
  for (Variant& v : all) {
    v.settings.slots = kSlots;
  }
  all[1].settings.one_call = false;
  all[2].settings.streams = 2;
  all[3].settings.streams = 4;
  all[4].settings.slots = 1;
  all[5].settings.staging = Staging::pageable;
  all[6].settings.staging = Staging::register_each;
  all[7].settings.staging = Staging::per_batch;
  return all;
}

std::string us(std::int64_t ns) { return fmt::format("{:.1f} us", static_cast<double>(ns) / 1e3); }

// `best`: the rate of the variant that is held to the bars.
void print(const Variant& v, const StageFigures& f, double plain, double best) {
  const bool bars = v.held == Held::to_bars;
  const double share = f.rate / plain;
  line(fmt::format("stage, {}", v.name), fmt::format("{:.2f} GB/s", f.rate),
       v.held == Held::worse ? "< pinned" : "",
       v.held == Held::worse ? verdict(f.rate < best) : "");
  line("  of plain", fmt::format("{:.3f}", share), bars ? ">= 0.95" : "",
       bars ? verdict(share >= 0.95) : "");
  line("  CPU time per part", fmt::format("{:.2f} us", f.cpu_us_part), bars ? "<= 2 us" : "",
       bars ? verdict(f.cpu_us_part <= 2) : "");
  line("  alignment error", us(f.clock.error_ns), "<= 20 us", verdict(f.clock.error_ns <= 20'000));
  line("  clamped by at most", us(f.clock.clamped_ns));
  fmt::print("  {}\n", f.means);
}

Result<> bench_copies() {
  BLKSWEEP_TRY(PageBuffer arena, PageBuffer::allocate({kParts * (kPartBytes + 512)}));
  BLKSWEEP_TRY(const double plain, plain_rate());
  line("plain pinned cuMemcpyHtoDAsync", fmt::format("{:.2f} GB/s", plain));
  double best = 0;
  for (const Variant& v : variants()) {
    BLKSWEEP_TRY(const StageFigures f, stage_figures(v.settings, arena.span()));
    best = v.held == Held::to_bars ? f.rate : best;
    print(v, f, plain, best);
  }
  return {};
}

Result<> bench_consumer(const std::string& name, ConsumerKind kind) {
  for (const int ms : {1, 10, 50}) {
    const Nanos asked = std::chrono::milliseconds(ms);
    BLKSWEEP_TRY(const auto consumer,
                 make_cuda_consumer({.device = 0, .kind = kind, .typical = asked}));
    BLKSWEEP_CHECK(consumer->warm_up());
    std::vector<double> off;
    for (std::uint32_t b = 0; b < 31; ++b) {
      BLKSWEEP_CHECK(consumer->launch(b, asked, {.at_ns = now_ns()}));
      BLKSWEEP_TRY(const ComputeTimes t, consumer->finish(b));
      off.push_back(std::abs(static_cast<double>(t.device.length() - asked.count())) /
                    static_cast<double>(asked.count()) * 100);
    }
    std::ranges::nth_element(off, off.begin() + 15);
    line(fmt::format("consumer {}, {} ms: off by (median)", name, ms),
         fmt::format("{:.3f} %", off[15]), "<= 1 %", verdict(off[15] <= 1));
  }
  return {};
}

void print_edges(const char* of, const EdgesFound& e, std::int64_t error) {
  const std::string name = fmt::format("CUPTI, edges of {}: off by at most", of);
  line(name, us(e.farthest()), "<= error + 10 us", verdict(e.within(error)));
  if (e.lost + e.missing > 0) {
    fmt::print("  {} records belong to no batch, {} batches have no record\n", e.lost, e.missing);
  }
}

Result<> bench_cupti() {
  const auto report = check_with_cupti({});
  if (!report && report.error().exit_code == Exit::unsupported) {
    fmt::print("{:<44} {:>14}  {}\n", "CUPTI", "skipped", report.error().message());
    return {};
  }
  BLKSWEEP_CHECK(report);
  print_edges("copies", report->copies, report->error_ns);
  print_edges("kernels", report->kernels, report->error_ns);
  line("CUPTI, overlap of copies and kernels: off by",
       fmt::format("{:.3f} %", 100 * report->overlap_off()), "<= 1 %",
       verdict(report->overlap_off() <= 0.01));
  return {};
}

void print_node() {
  const CudaFacts facts = cuda_facts();
  fmt::print("{} ({}); driver for CUDA {}, built with {}; batches of {} x {} KiB\n",
             facts.devices.at(0).name, format_bytes(facts.devices.at(0).memory), facts.driver,
             cuda_built_with(), kParts, kPartBytes >> 10);
}

Result<> bench(const std::string& part) {
  BLKSWEEP_CHECK(open_device(0));
  if (part == "node") {
    print_node();
    return {};
  }
  if (part == "copies") {
    return bench_copies();
  }
  if (part == "cupti") {
    return bench_cupti();
  }
  for (const auto& [name, kind] : {std::pair{"cuda", ConsumerKind::cuda},
                                   {"cuda-memory", ConsumerKind::cuda_memory},
                                   {"gemm", ConsumerKind::gemm}}) {
    if (part == name) {
      return bench_consumer(name, kind);
    }
  }
  return usage_error("'" + part + "' is not one of node, copies, cuda, cuda-memory, gemm, cupti");
}

}  // namespace
}  // namespace blksweep

int main(int argc, char** argv) {
  // Whole lines at once: what was measured before a call that hangs or ends the process is kept.
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  if (const auto done = blksweep::bench(argc == 2 ? argv[1] : ""); !done) {
    fmt::print(stderr, "{}\n", done.error().message());
    return static_cast<int>(done.error().exit_code);
  }
  return 0;
}
