#include "experiment/batch_records.h"

namespace blksweep {
namespace {

Maybe<std::int64_t> known(std::int64_t ns) {
  return ns == 0 ? Maybe<std::int64_t>{} : Maybe<std::int64_t>{ns};
}

void record_read(BatchRecord& r, const BatchTimes& read) {
  r.first_submit_ns = read.first_submit_ns == 0 ? read.ready_ns : read.first_submit_ns;
  r.ready_ns = read.ready_ns;
}

void record_delivery(BatchRecord& r, const DeliveryTimes& t) {
  r.decode_wait_begin_ns = known(t.decode_wait_begin_ns);
  r.slot_wait_begin_ns = known(t.slot_wait_begin_ns);
  r.staging_begin_ns = known(t.staging_begin_ns);
  r.staging_end_ns = known(t.staging_end_ns);
  r.copy_begin_ns = known(t.copy_begin_ns);
  r.copy_end_ns = known(t.copy_end_ns);
  r.compute_begin_ns = known(t.compute_begin_ns);
  r.compute_end_ns = known(t.compute_end_ns);
  r.consumed_ns = t.consumed_ns;
}

void record_decoding(BatchRecord& r, const DecodeTimes& t) {
  r.decode_begin_ns = known(t.begin_ns);
  r.decode_end_ns = known(t.end_ns);
  r.decoded_bytes = t.bytes;
}

}  // namespace

void record_batches(RunRecord& run, const Catalog& catalog, const PlannedEpoch& planned,
                    const Epoch& epoch) {
  const Schedule& s = planned.schedule;
  const Readiness& read = epoch.reader().readiness();
  for (std::uint32_t b = 0; b < s.batches() && epoch.delivery().times()[b].consumed_ns != 0; ++b) {
    BatchRecord& r = run.batches.emplace_back();
    for (std::uint32_t i = s.batch_begin[b]; i < s.batch_begin[b + 1]; ++i) {
      if (const std::uint32_t p = s.emission[i]; read.failed()[p] == 0) {
        ++r.samples;
        r.bytes += catalog.sample(planned.plan.order[p]).length;
      }
    }
    record_read(r, read.times()[b]);
    record_delivery(r, epoch.delivery().times()[b]);
    if (epoch.decode() != nullptr) {
      record_decoding(r, epoch.decode()->times()[b]);
    }
  }
  for (const MemoryWait& w : epoch.reader().waits()) {
    run.read_waits.push_back({w.span.begin, w.span.end, w.consumed_batches});
  }
  if (epoch.copy() != nullptr) {
    const CopyCost& cost = epoch.delivery().copy_cost();
    run.copy_cost = CopyCostRecord{cost.parts, cost.bytes, cost.cpu_ns};
  }
}

}  // namespace blksweep
