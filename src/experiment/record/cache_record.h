// Between a cache probe and the row of a run.
#pragma once

#include "plan/plan.h"
#include "probe/cache/cache_probe.h"
#include "store/cache_records.h"

namespace blksweep {

// The probe is to know the pages of all samples of the plan that are not of a hole, and no others.
void want_samples(CacheProbe& probe, const Catalog& catalog, const Plan& plan);

struct CacheReading {
  bool by_page_cache = true;    // that is how the run reads its files
  bool by_this_process = true;  // else whatever is counted of this process says nothing
};
CacheRecord cache_record(const CacheReport& report, const CacheReading& reading,
                         const Catalog& catalog);

}  // namespace blksweep
