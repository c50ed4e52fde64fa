#include "probe/probe_math.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>

namespace blksweep {
namespace {

constexpr std::uint32_t kSubBuckets = 1u << BLK_PROBE_SUB_BITS;
constexpr std::uint64_t kSizeStep = 4096;

template <std::size_t N, class LowerBound>
ProbeBuckets buckets_of(std::span<const blk_probe_counts> per_cpu,
                        __u64 (blk_probe_counts::*histogram)[N], LowerBound lower_bound) {
  ProbeBuckets out;
  for (std::uint32_t i = 0; i < N; ++i) {
    std::uint64_t count = 0;
    for (const blk_probe_counts& cpu : per_cpu) {
      count += (cpu.*histogram)[i];
    }
    if (count > 0) {
      out.emplace_back(lower_bound(i), count);
    }
  }
  return out;
}

void add_counts(ProbeReport& r, const blk_probe_counts& cpu) {
  r.requests += cpu.reads;
  r.bytes += cpu.read_bytes;
  r.other_requests += cpu.others;
  r.others.writes += cpu.writes;
  r.others.write_bytes += cpu.write_bytes;
  r.others.flushes += cpu.flushes;
  r.others.discards += cpu.discards;
  r.others.discard_bytes += cpu.discard_bytes;
  r.seeks += cpu.seeks;
  r.depth_ns += cpu.depth_ns + cpu.requeued_ns;
}

std::uint64_t sum_of(std::span<const blk_probe_counts> per_cpu, __u64 blk_probe_counts::*field) {
  std::uint64_t sum = 0;
  for (const blk_probe_counts& cpu : per_cpu) {
    sum += cpu.*field;
  }
  return sum;
}

// Only where whatever is in the count was seen.
void add_merges(ProbeReport& r, std::span<const blk_probe_counts> per_cpu,
                const blk_probe_shared& shared, const ProbeSight& sight) {
  if (sight.bio_merges) {
    r.plug_merges = sum_of(per_cpu, &blk_probe_counts::plug_merges);
  }
  if (sight.bio_merges && sight.request_merges) {
    r.scheduler_merges =
        sum_of(per_cpu, &blk_probe_counts::scheduler_merges) + shared.request_merges;
  }
  if (sight.requeues) {
    r.requeues = shared.requeues;
  }
  if (sight.splits) {
    r.splits = shared.splits;
  }
  if (sight.punts) {
    r.punted = shared.punted;
  }
}

// A busy time that goes on has only its start in the sum, which makes it negative: no second word
// is asked, which may be of another moment.
std::uint64_t busy_until(std::int64_t now_ns, std::int64_t sum) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(sum < 0 ? sum + now_ns : sum, 0));
}

std::optional<double> mean_depth(const ProbeReport& r) {
  if (r.busy_ns == 0 || r.depth_ns == 0) {
    return std::nullopt;
  }
  return static_cast<double>(r.depth_ns) / static_cast<double>(r.busy_ns);
}

// Counters that only grow, so that a later snapshot is never behind an earlier one.
ProbeBuckets difference(const ProbeBuckets& before, const ProbeBuckets& after) {
  std::map<std::uint64_t, std::uint64_t> counts(after.begin(), after.end());
  for (const auto& [lower, count] : before) {
    counts[lower] -= std::min(counts[lower], count);
  }
  ProbeBuckets out;
  std::ranges::copy_if(counts, std::back_inserter(out), [](const auto& b) { return b.second > 0; });
  return out;
}

std::optional<std::uint64_t> difference(const std::optional<std::uint64_t>& before,
                                        const std::optional<std::uint64_t>& after) {
  return after ? std::optional(*after - before.value_or(0)) : std::nullopt;
}

std::uint64_t total(const ProbeBuckets& buckets) {
  std::uint64_t sum = 0;
  for (const auto& [lower, count] : buckets) {
    sum += count;
  }
  return sum;
}

// Time at the driver since the start, of requests that were there before it, is known when they
// end: so much that nobody can say what of it is an interval's.
bool from_before(const ProbeReport& r) {
  return static_cast<double>(r.orphan_ns) > kDepthUncertainty * static_cast<double>(r.depth_ns);
}

double middle(std::uint64_t lower_bound) {
  return static_cast<double>(lower_bound) +
         static_cast<double>(latency_bucket_width(lower_bound) - 1) / 2;
}

}  // namespace

std::uint64_t latency_lower_bound(std::uint32_t bucket) {
  if (bucket < 2 * kSubBuckets) {
    return bucket;
  }
  const std::uint32_t shift = bucket / kSubBuckets - 1;
  return std::uint64_t{bucket - shift * kSubBuckets} << shift;
}

std::uint64_t latency_bucket_width(std::uint64_t lower_bound) {
  return lower_bound < kSubBuckets ? 1 : std::bit_floor(lower_bound) >> BLK_PROBE_SUB_BITS;
}

ProbeReport count_report(std::span<const blk_probe_counts> per_cpu, const blk_probe_shared& shared,
                         std::int64_t now_ns, const ProbeSight& sight) {
  ProbeReport r;
  for (const blk_probe_counts& cpu : per_cpu) {
    add_counts(r, cpu);
  }
  add_merges(r, per_cpu, shared, sight);
  r.healed = shared.healed;
  r.healed_ns = shared.healed_ns;
  r.lost_events = shared.beyond_slots;
  r.driver_now = static_cast<std::uint64_t>(std::max<std::int64_t>(shared.driver_depth, 0));
  r.scheduler_now = static_cast<std::uint64_t>(std::max<std::int64_t>(shared.scheduler_depth, 0));
  r.driver_sum = shared.driver_sum;
  r.scheduler_sum = shared.scheduler_sum;
  r.ticks = shared.sample_number;
  r.busy_ns = busy_until(now_ns, static_cast<std::int64_t>(shared.busy_ns)) + shared.orphan_busy_ns;
  r.orphan_ns = shared.orphan_ns;
  r.depth_ns += r.orphan_ns;
  r.depth_mean = certain_depth(r);
  r.depth = buckets_of(per_cpu, &blk_probe_counts::depth, [](std::uint64_t i) { return i; });
  r.request_bytes =
      buckets_of(per_cpu, &blk_probe_counts::sizes, [](std::uint64_t i) { return i * kSizeStep; });
  r.latency_ns = buckets_of(per_cpu, &blk_probe_counts::latency, latency_lower_bound);
  return r;
}

std::optional<double> depth_uncertainty(const ProbeReport& r) {
  if (!mean_depth(r) || r.healed_ns >= r.busy_ns) {
    return std::nullopt;
  }
  const auto healed = static_cast<double>(r.healed_ns);
  const double most =
      (static_cast<double>(r.depth_ns) + healed) / (static_cast<double>(r.busy_ns) - healed);
  return most / *mean_depth(r) - 1;
}

std::optional<double> certain_depth(const ProbeReport& r) {
  const std::optional<double> off = depth_uncertainty(r);
  return off && *off <= kDepthUncertainty ? mean_depth(r) : std::nullopt;
}

std::uint32_t slot_bits_for(std::uint32_t tags) {
  return std::max(10u, static_cast<std::uint32_t>(std::bit_width(2 * std::max(tags, 1u) - 1)));
}

std::vector<std::uint32_t> log_entries(std::uint64_t seen, unsigned bits, std::uint64_t from) {
  if (seen <= from) {
    return {};
  }
  const std::uint64_t size = std::uint64_t{1} << bits;
  const std::uint64_t last = seen - 1;
  const auto k = last < size ? 0u : static_cast<unsigned>(std::bit_width(last >> bits));
  std::vector<std::uint32_t> entries;
  std::uint64_t m = (from + (std::uint64_t{1} << k) - 1) >> k;  // the first one that is kept
  for (; m <= last >> k; ++m) {
    entries.push_back(static_cast<std::uint32_t>(((m << k) | (m >> (bits - k))) & (size - 1)));
  }
  return entries;
}

std::uint64_t time_there(std::span<const blk_probe_slot> slots, std::int64_t now_ns,
                         std::uint64_t but_oldest) {
  const auto now = static_cast<std::uint64_t>(now_ns);
  std::vector<std::uint64_t> times;
  for (const blk_probe_slot& slot : slots) {
    if ((slot.flags & BLK_PROBE_ISSUED) != 0) {
      times.push_back(now - std::min<std::uint64_t>(now, slot.issued_ns));
    }
  }
  std::ranges::sort(times, std::greater());
  const auto left_out = static_cast<std::ptrdiff_t>(std::min(but_oldest, times.size()));
  return std::accumulate(times.begin() + left_out, times.end(), std::uint64_t{0});
}

void add_time_there(ProbeReport& r, std::uint64_t ns) {
  r.depth_ns += ns;
  r.depth_mean = certain_depth(r);
}

Settlement settle(std::span<const blk_probe_slot> slots, InFlight at_stop, std::int64_t now_ns) {
  Settlement s;
  std::uint64_t reads = 0, all = 0;
  for (const blk_probe_slot& slot : slots) {
    if ((slot.flags & BLK_PROBE_ISSUED) != 0) {
      ++all;
      reads += (slot.flags & BLK_PROBE_READ) != 0 ? 1 : 0;
    }
  }
  s.healed = all - std::min(all, at_stop.all);
  s.reads_in_flight = std::min(reads, at_stop.reads);
  s.there_ns = time_there(slots, now_ns, s.healed);
  s.healed_ns = time_there(slots, now_ns) - s.there_ns;
  return s;
}

std::optional<double> stat_difference(const StatCheck& check) {
  const auto ours = static_cast<double>(check.requests) + static_cast<double>(check.orphans) -
                    static_cast<double>(check.reads_in_flight);
  if (check.stat_reads == 0) {
    return ours == 0 ? std::nullopt : std::optional(1.0);
  }
  const auto stat = static_cast<double>(check.stat_reads);
  return std::abs(ours - stat) / stat;
}

std::optional<double> latency_percentile(const ProbeBuckets& latency_ns, double share) {
  const double wanted = share * static_cast<double>(total(latency_ns));
  std::uint64_t seen = 0;
  for (const auto& [lower, count] : latency_ns) {
    seen += count;
    if (static_cast<double>(seen) >= wanted) {
      return middle(lower);
    }
  }
  return std::nullopt;
}

std::optional<double> latency_mean(const ProbeBuckets& latency_ns) {
  double sum = 0;
  for (const auto& [lower, count] : latency_ns) {
    sum += middle(lower) * static_cast<double>(count);
  }
  const std::uint64_t n = total(latency_ns);
  return n == 0 ? std::nullopt : std::optional(sum / static_cast<double>(n));
}

ProbeReport between(const ProbeReport& before, const ProbeReport& after) {
  ProbeReport r;
  r.requests = after.requests - before.requests;
  r.bytes = after.bytes - before.bytes;
  r.plug_merges = difference(before.plug_merges, after.plug_merges);
  r.scheduler_merges = difference(before.scheduler_merges, after.scheduler_merges);
  r.seeks = after.seeks - before.seeks;
  r.other_requests = after.other_requests - before.other_requests;
  r.others = {.writes = after.others.writes - before.others.writes,
              .write_bytes = after.others.write_bytes - before.others.write_bytes,
              .flushes = after.others.flushes - before.others.flushes,
              .discards = after.others.discards - before.others.discards,
              .discard_bytes = after.others.discard_bytes - before.others.discard_bytes};
  r.splits = difference(before.splits, after.splits);
  r.requeues = difference(before.requeues, after.requeues);
  r.punted = difference(before.punted, after.punted);
  r.healed = after.healed - before.healed;
  r.healed_ns = after.healed_ns - before.healed_ns;
  r.lost_events = after.lost_events - before.lost_events;
  r.driver_now = after.driver_now;
  r.scheduler_now = after.scheduler_now;
  r.driver_sum = after.driver_sum - before.driver_sum;
  r.scheduler_sum = after.scheduler_sum - before.scheduler_sum;
  r.ticks = after.ticks - before.ticks;
  r.programs_ns = difference(before.programs_ns, after.programs_ns);
  // What was taken for one that is there, and is healed then, is in neither.
  r.depth_ns = after.depth_ns - std::min(after.depth_ns, before.depth_ns);
  r.orphan_ns = after.orphan_ns - before.orphan_ns;
  r.busy_ns = after.busy_ns - std::min(after.busy_ns, before.busy_ns);
  r.depth_mean = from_before(r) ? std::nullopt : certain_depth(r);
  r.depth = difference(before.depth, after.depth);
  r.request_bytes = difference(before.request_bytes, after.request_bytes);
  r.latency_ns = difference(before.latency_ns, after.latency_ns);
  return r;
}

ProbeIssue to_issue(const blk_probe_issue& e) {
  ProbeIssue out{static_cast<std::int64_t>(e.at_ns), e.sector, e.bytes};
  if (e.done_ns != 0) {
    out.latency_ns = static_cast<std::int64_t>(e.done_ns - e.at_ns);
  }
  out.origin = {.metadata = (e.origin & BLK_PROBE_META) != 0,
                .read_ahead = (e.origin & BLK_PROBE_READAHEAD) != 0,
                .device_page = (e.origin & BLK_PROBE_DEVICE_PAGE) != 0,
                .process = e.origin >> BLK_PROBE_PROCESS_SHIFT};
  return out;
}

}  // namespace blksweep
