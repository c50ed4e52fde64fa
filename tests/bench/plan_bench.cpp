// Planning time and memory for a large data set: every order with every merge, one row each.
//
//   build/bench/plan_bench [SAMPLES [SHUFFLE_WINDOW_MIB]]
//
// Bar: 1,280,000 samples of 1.5 extents each in <= 0.5 s and <= 120 MB beside the catalog, from
// make_order to make_schedule. Memory is the peak of what operator new handed out.
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

void plan_once(const Catalog& catalog, OrderSettings order, MergeSettings merge,
               ShuffleSettings shuffle) {
  const std::size_t before = g_live_bytes;
  g_peak_bytes = before;
  const std::int64_t start = now_ns();
  std::vector<std::uint32_t> positions = make_order(catalog, order);
  const std::int64_t ordered = now_ns();
  const Plan plan = make_plan(catalog, std::move(positions), 1, merge);
  const std::int64_t planned = now_ns();
  const auto schedule = make_schedule(catalog, plan, shuffle);
  const std::int64_t end = now_ns();
  fmt::print("{:9} {:6} {:9} {:6.0f} {:6.0f} {:8.0f} {:6.0f} ms {:6.1f} MB {:8} reads {:6} gates {}\n",
             to_string(order.order), to_string(merge.merge), to_string(shuffle.shuffle),
             ms(start, ordered), ms(ordered, planned), ms(planned, end), ms(start, end),
             mb(g_peak_bytes - before), plan.reads.size(), schedule ? schedule->gates.size() : 0,
             schedule ? format_bytes(schedule->arena) : schedule.error().message());
}

void bench(const Catalog& catalog, Bytes window) {
  for (const Order order : {Order::random, Order::path, Order::directory, Order::inode, Order::lba,
                            Order::chunked}) {
    for (const Merge merge : {Merge::none, Merge::file, Merge::kernel, Merge::device}) {
      MergeSettings m{.merge = merge};
      m.horizon = window;
      plan_once(catalog, {.order = order}, m, {.shuffle = Shuffle::reservoir, .window = window});
    }
  }
  const OrderSettings sorted{.order = Order::random, .sort_window = window};
  for (const Shuffle shuffle : {Shuffle::none, Shuffle::buffer, Shuffle::reservoir, Shuffle::full}) {
    const Bytes w{shuffle == Shuffle::full ? std::uint64_t{1} << 40 : window.n};
    plan_once(catalog, sorted, {}, {.shuffle = shuffle, .window = w});
  }
}

}  // namespace
}  // namespace blksweep

int main(int argc, char** argv) {
  using namespace blksweep;
  const auto samples = static_cast<std::uint32_t>(argc > 1 ? std::atol(argv[1]) : 1280000);
  const auto window_mib = static_cast<std::uint64_t>(argc > 2 ? std::atol(argv[2]) : 1024);
  const testing::SyntheticCatalog synthetic(
      {.files = samples, .extents_per_file = 1.55, .mean_bytes = 110 << 10, .labels = 1000});
  const Catalog catalog = synthetic.view();
  fmt::print("{} samples, {} extents, {}\norder     merge  shuffle    order   plan schedule  total\n",
             catalog.samples(), catalog.extents.size(), format_bytes(catalog.bytes()));
  bench(catalog, {window_mib << 20});
  return 0;
}
