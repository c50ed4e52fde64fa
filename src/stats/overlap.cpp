#include "stats/overlap.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "stats/intervals.h"

namespace blksweep {
namespace {

template <class Spans>
IntervalSet within(const TimeSpan& epoch, const Spans& spans) {
  std::vector<TimeSpan> inside;
  inside.reserve(spans.size());
  for (const TimeSpan& s : spans) {
    inside.push_back(intersect(epoch, s));
  }
  return IntervalSet(std::move(inside));
}

std::uint64_t hidden_of(const TransferSlice& s, const IntervalSet& kernels) {
  if (s.length() == 0) {
    return kernels.contains(s.begin) ? s.bytes : 0;
  }
  const double share = static_cast<double>(kernels.measure_in(s)) / static_cast<double>(s.length());
  return static_cast<std::uint64_t>(std::llround(share * static_cast<double>(s.bytes)));
}

void add_bytes(const OverlapInput& in, const IntervalSet& kernels, Overlap& out) {
  for (const TransferSlice& s : in.transfers) {
    out.bytes += s.bytes;
    out.hidden_bytes += hidden_of(s, kernels);
  }
}

// One kernel after the other: the queue of an accelerator.
void add_gaps(const OverlapInput& in, Overlap& out) {
  std::map<std::uint32_t, std::int64_t> arrived;  // by batch
  for (const TransferSlice& s : in.transfers) {
    arrived[s.batch] = std::max(arrived[s.batch], s.end);
  }
  const KernelSpan* before = nullptr;
  for (const KernelSpan& k : in.kernels) {
    out.asked += k.asked_ns;
    const auto there = arrived.find(k.batch);
    if (before != nullptr && there != arrived.end() && there->second <= before->end) {
      const std::int64_t gap = std::max<std::int64_t>(0, k.begin - before->end);
      ++out.fed;
      out.fed_gap += gap;
      out.fed_gap_most = std::max(out.fed_gap_most, gap);
    }
    before = &k;
  }
}

std::optional<double> over(double part, std::int64_t whole) {
  return whole > 0 ? std::optional(part / static_cast<double>(whole)) : std::nullopt;
}

}  // namespace

std::optional<double> Overlap::hidden_share() const {
  return over(static_cast<double>(both), transfer);
}
std::optional<double> Overlap::exposed_share() const {
  return over(static_cast<double>(exposed), wall);
}
std::optional<double> Overlap::utilisation() const {
  return over(static_cast<double>(kernel), wall);
}
std::optional<double> Overlap::bytes_per_s() const {
  return over(static_cast<double>(bytes) * 1e9, transfer);
}

Overlap overlap_of(const OverlapInput& in) {
  Overlap out;
  const IntervalSet transfers = within(in.epoch, in.transfers);
  const IntervalSet kernels = within(in.epoch, in.kernels);
  out.wall = in.epoch.length();
  out.transfer = transfers.measure();
  out.kernel = kernels.measure();
  out.both = intersect(transfers, kernels).measure();
  out.exposed = out.transfer - out.both;
  out.idle = out.wall - unite(transfers, kernels).measure();
  add_bytes(in, kernels, out);
  add_gaps(in, out);
  return out;
}

}  // namespace blksweep
