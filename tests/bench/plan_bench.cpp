// Planning time and memory for a large data set: every order with every merge, one row each.
//
//   build/bench/plan_bench [SAMPLES [SHUFFLE_WINDOW_MIB]]
//
// Bar: 1,280,000 samples of 1.5 extents each in <= 0.5 s and <= 120 MB beside the catalog, from
// make_order to make_schedule. Memory is the peak of what operator new handed out; times are CPU
// time of the thread, the best of three, so that a busy machine disturbs less.
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "base/clock.h"
#include "plan/plan.h"
#include "plan/schedule.h"
#include "support/synthetic_catalog.h"

namespace {

std::size_t g_live_bytes = 0;
std::size_t g_peak_bytes = 0;

void* counted(std::size_t size) {
  void* p = std::malloc(size);
  if (p == nullptr) {
    std::abort();
  }
  g_live_bytes += malloc_usable_size(p);
  g_peak_bytes = std::max(g_peak_bytes, g_live_bytes);
  return p;
}

void uncounted(void* p) {
  if (p != nullptr) {
    g_live_bytes -= malloc_usable_size(p);
    std::free(p);
  }
}

}  // namespace

void* operator new(std::size_t size) { return counted(size); }
void* operator new[](std::size_t size) { return counted(size); }
void operator delete(void* p) noexcept { uncounted(p); }
void operator delete[](void* p) noexcept { uncounted(p); }
void operator delete(void* p, std::size_t) noexcept { uncounted(p); }
void operator delete[](void* p, std::size_t) noexcept { uncounted(p); }

namespace blksweep {
namespace {

double ms(std::int64_t begin, std::int64_t end) { return static_cast<double>(end - begin) / 1e6; }
double mb(std::size_t bytes) { return static_cast<double>(bytes) / 1e6; }

struct Cost {
  double order_ms;
  double plan_ms;
  double schedule_ms;
  std::size_t peak_bytes;
  std::size_t reads;
  std::size_t gates;
  std::string arena;
  double total_ms() const { return order_ms + plan_ms + schedule_ms; }
};

Cost plan_once(const Catalog& catalog, const OrderSettings& order, const MergeSettings& merge,
               const ShuffleSettings& shuffle) {
  const std::size_t before = g_live_bytes;
  g_peak_bytes = before;
  const std::int64_t start = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
  std::vector<std::uint32_t> positions = make_order(catalog, order);
  const std::int64_t ordered = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
  const Plan plan = make_plan(catalog, std::move(positions), 1, merge);
  const std::int64_t planned = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
  const auto schedule = make_schedule(catalog, plan, shuffle);
  const std::int64_t end = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
  return {ms(start, ordered),
          ms(ordered, planned),
          ms(planned, end),
          g_peak_bytes - before,
          plan.reads.size(),
          schedule ? schedule->gates.size() : 0,
          schedule ? format_bytes(schedule->arena) : schedule.error().message()};
}

void plan_row(const Catalog& catalog, const OrderSettings& order, const MergeSettings& merge,
              const ShuffleSettings& shuffle) {
  Cost best = plan_once(catalog, order, merge, shuffle);
  for (int i = 1; i < 3; ++i) {
    const Cost again = plan_once(catalog, order, merge, shuffle);
    best = again.total_ms() < best.total_ms() ? again : best;
  }
  fmt::print("{:9} {:6} {:9} {:6.0f} {:6.0f} {:8.0f} {:6.0f} {:6.1f} {:8} {:6}  {}\n",
             to_string(order.order), to_string(merge.merge), to_string(shuffle.shuffle),
             best.order_ms, best.plan_ms, best.schedule_ms, best.total_ms(), mb(best.peak_bytes),
             best.reads, best.gates, best.arena);
}

void bench(const Catalog& catalog, Bytes window) {
  for (const Order order : {Order::random, Order::path, Order::directory, Order::inode, Order::lba,
                            Order::chunked, Order::elevator}) {
    for (const Merge merge : {Merge::none, Merge::file, Merge::kernel, Merge::device}) {
      MergeSettings m{.merge = merge};
      m.horizon = window;
      plan_row(catalog, {.order = order}, m, {.shuffle = Shuffle::reservoir, .window = window});
    }
  }
  const OrderSettings sorted{.order = Order::random, .sort_window = window};
  for (const Shuffle shuffle :
       {Shuffle::none, Shuffle::buffer, Shuffle::reservoir, Shuffle::full}) {
    const Bytes w{shuffle == Shuffle::full ? std::uint64_t{1} << 40 : window.n};
    plan_row(catalog, sorted, {}, {.shuffle = shuffle, .window = w});
  }
}

int run(std::uint32_t samples, std::uint64_t window_mib) {
  const support::SyntheticCatalog synthetic(
      {.files = samples, .extents_per_file = 1.55, .mean_bytes = 110 << 10, .labels = 1000});
  const Catalog catalog = synthetic.view();
  fmt::print(
      "{} samples, {} extents, {}\norder     merge  shuffle    order   plan schedule  total     MB "
      "   reads  gates  arena (ms)\n",
      catalog.samples(), catalog.extents.size(), format_bytes(catalog.bytes()));
  bench(catalog, {window_mib << 20});
  return 0;
}

}  // namespace
}  // namespace blksweep

int main(int argc, char** argv) {
  const auto samples = static_cast<std::uint32_t>(argc > 1 ? std::atol(argv[1]) : 1280000);
  const auto window_mib = static_cast<std::uint64_t>(argc > 2 ? std::atol(argv[2]) : 1024);
  return blksweep::run(samples, window_mib);
}
