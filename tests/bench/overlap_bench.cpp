// Read 8 ms, copy 3 ms, compute 10 ms per batch through the real copy thread and consumer thread,
// with a reader that sleeps: with enough prefetch the epoch is compute-bound, with none the sum.
// Prints both beside what they should be.
#include <fmt/format.h>

#include <memory>

#include "base/clock.h"
#include "lab/delivery.h"
#include "stage/deadline.h"
#include "stage/emulated_copy.h"

namespace blksweep {
namespace {

constexpr std::uint32_t kBatches = 200;
constexpr std::int64_t kReadNs = 8'000'000, kCopyNs = 3'000'000, kComputeNs = 10'000'000;

// As the reader does it: reads of batch b wait until all but `prefetch` before it are consumed.
void read_all(Handoff& handoff, std::uint32_t prefetch) {
  for (std::uint32_t b = 0; b < kBatches; ++b) {
    const std::uint32_t gate = b < prefetch ? 0 : b - prefetch;
    if (!handoff.consumed.wait_for(gate)) {
      return;
    }
    [[maybe_unused]] const Result<> slept = sleep_until(now_ns() + kReadNs);
    handoff.ready.publish(b + 1);
  }
}

double epoch_ms(std::uint32_t prefetch) {
  Catalog catalog;
  Plan plan;
  Schedule schedule;
  for (std::uint32_t b = 0; b <= kBatches; ++b) {
    schedule.batch_begin.push_back(b);
    schedule.emission.push_back(b);
  }
  schedule.emission.pop_back();
  const std::vector<std::uint8_t> failed(kBatches, 1);  // no bytes: the latency is the copy
  Handoff handoff;
  const auto copy = make_emulated_copy({LinkSettings{}.bandwidth, Nanos{kCopyNs}, 1});
  const auto consumer = make_emulated_consumer();
  Delivery delivery({.catalog = catalog,
                     .plan = plan,
                     .schedule = schedule,
                     .arena = {},
                     .failed = failed,
                     .handoff = handoff,
                     .copy = copy.get(),
                     .staging_slots = prefetch == 0 ? 1U : 2U,
                     .consumer = consumer.get(),
                     .compute = {.mean = Nanos{kComputeNs}}});
  const std::int64_t begin = now_ns();
  delivery.start();
  read_all(handoff, prefetch);
  if (const Result<> done = delivery.finish(); !done) {
    fmt::print("{}\n", done.error().message());
  }
  return static_cast<double>(now_ns() - begin) / 1e6;
}

void report(const char* name, double measured_ms, double ideal_ms) {
  fmt::print("{:<12} {:9.2f} ms  {:9.2f} ms  {:+.2f} %\n", name, measured_ms, ideal_ms,
             100 * (measured_ms / ideal_ms - 1));
}

}  // namespace
}  // namespace blksweep

int main() {
  using namespace blksweep;
  constexpr double kMs = 1e-6;
  fmt::print("{} batches of read 8 ms, copy 3 ms, compute 10 ms: epoch, ideal, off by\n", kBatches);
  report("prefetch 4", epoch_ms(4), (kReadNs + kCopyNs + kBatches * kComputeNs) * kMs);
  report("prefetch 0", epoch_ms(0), kBatches * (kReadNs + kCopyNs + kComputeNs) * kMs);
}
