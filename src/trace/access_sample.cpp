#include "trace/access_sample.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string_view>
#include <utility>

namespace blksweep {
namespace {

std::uint64_t sum_within(std::uint64_t a, std::uint64_t b) {
  return a + std::min(b, std::numeric_limits<std::uint64_t>::max() - a);
}

// Where each place begins.
std::vector<std::uint64_t> begins_of(const std::vector<TraceRecord>& records,
                                     const std::vector<std::string>& names) {
  std::vector<std::uint64_t> begins(names.size());
  for (const TraceRecord& r : records) {
    begins[r.place] = std::max(begins[r.place], sum_within(r.offset, r.bytes));
  }
  std::vector<std::uint32_t> by_name(names.size());
  std::iota(by_name.begin(), by_name.end(), 0U);
  std::ranges::stable_sort(by_name, {},
                           [&](std::uint32_t p) { return std::string_view(names[p]); });
  std::uint64_t begin = 0;
  for (const std::uint32_t place : by_name) {
    begin = sum_within(std::exchange(begins[place], begin), begin);
  }
  return begins;
}

}  // namespace

void AccessSample::add(const TraceRecord& record) {
  if (record.op == TraceOp::flush || record.op == TraceOp::other) {
    return;  // goes nowhere
  }
  ++seen_;
  if (kept_.size() < kMost) {
    kept_.push_back(record);
  } else if (const std::uint64_t at = rng_.below(seen_); at < kMost) {
    kept_[at] = record;
  }
}

std::vector<SampledAccess> AccessSample::accesses(const std::vector<std::string>& names) const {
  const std::vector<std::uint64_t> begins = begins_of(kept_, names);
  std::vector<SampledAccess> out;
  out.reserve(kept_.size());
  for (const TraceRecord& r : kept_) {
    out.push_back({r.time_ns, sum_within(begins[r.place], r.offset), r.bytes, r.op});
  }
  std::ranges::stable_sort(out, {}, &SampledAccess::time_ns);
  return out;
}

}  // namespace blksweep
