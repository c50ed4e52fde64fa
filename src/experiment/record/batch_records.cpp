#include "experiment/record/batch_records.h"

namespace blksweep {
void record_batches(RunRecord& run, const Catalog& catalog, const PlannedEpoch& planned,
                    const Epoch& epoch) {
  const Schedule& s = planned.schedule;
  const Readiness& read = epoch.reader().readiness();
  for (std::uint32_t b = 0; b < s.batches() && epoch.times()[b].consumed != 0; ++b) {
    BatchRecord& r = run.batches.emplace_back();
    for (std::uint32_t i = s.batch_begin[b]; i < s.batch_begin[b + 1]; ++i) {
      if (const std::uint32_t p = s.emission[i]; read.failed()[p] == 0) {
        ++r.samples;
        r.bytes += catalog.sample(planned.plan.order[p]).length;
      }
    }
    r.times = epoch.times()[b];
    if (epoch.decode() != nullptr && !epoch.decode()->spins()) {
      r.decoded_bytes = epoch.decode()->bytes()[b];
    }
  }
  run.read_waits = epoch.reader().waits();
  if (epoch.copy() != nullptr) {
    const CopyCost& cost = epoch.delivery().copy_cost();
    run.copy_cost = CopyCostRecord{cost.parts, cost.bytes, cost.cpu_ns};
  }
  run.device_work = epoch.delivery().device_work();
  const auto beyond = [&](const auto& work) { return work.batch >= run.batches.size(); };
  std::erase_if(run.device_work.transfers, beyond);
  std::erase_if(run.device_work.kernels, beyond);
}

}  // namespace blksweep
