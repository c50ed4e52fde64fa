#include "store/batch_spans.h"

#include <algorithm>
#include <iterator>

namespace blksweep {
namespace {

std::optional<TimeSpan> span_between(const Maybe<std::int64_t>& begin,
                                     const Maybe<std::int64_t>& end) {
  return begin && end ? std::optional(TimeSpan{*begin, *end}) : std::nullopt;
}

}  // namespace

BatchSpans spans_of(const BatchRecord& b) {
  return {.read = {b.first_submit_ns, b.ready_ns},
          .decode = span_between(b.decode_begin_ns, b.decode_end_ns),
          .copy = span_between(b.staging_begin_ns ? b.staging_begin_ns : b.copy_begin_ns,
                               b.staging_end_ns ? b.staging_end_ns : b.copy_end_ns),
          .compute = span_between(b.compute_begin_ns, b.compute_end_ns),
          .decode_wait_begin = b.decode_wait_begin_ns,
          .copy_wait_begin = b.slot_wait_begin_ns,
          .consumed = b.consumed_ns};
}

std::vector<BatchSpans> batch_spans(const std::vector<BatchRecord>& batches) {
  std::vector<BatchSpans> spans;
  spans.reserve(batches.size());
  std::ranges::transform(batches, std::back_inserter(spans), spans_of);
  return spans;
}

std::vector<MemoryWait> memory_waits(const std::vector<ReadWaitRecord>& waits) {
  std::vector<MemoryWait> out;
  out.reserve(waits.size());
  for (const ReadWaitRecord& w : waits) {
    out.push_back({{w.begin_ns, w.end_ns}, w.consumed_batches});
  }
  return out;
}

}  // namespace blksweep
