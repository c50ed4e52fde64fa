// What the requests of a run were for, as its record: probe/attribution.h over the reads that the
// probe logged, and what else the disk was given.
//
// Unknown: where origins were not followed, the log lacks reads, events were lost, or the catalog
//          has no address. "other" is unknown where nobody is told apart: the kernel names no
//          process, or a peer reads, whose processes are many.
// Threads: pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "plan/plan.h"
#include "probe/attribution.h"
#include "store/records.h"

namespace blksweep {

struct AttributionInputs {
  const Catalog& catalog;
  const Plan& plan;
  std::span<const std::uint32_t> ours;  // processes that read for the run; empty: not known
};

// `told_apart`: other programs were; else what they read is not known.
AttributionRecord attribution_record(const Attribution& found, const OtherRequests& others,
                                     bool told_apart);

Maybe<AttributionRecord> attribution_record(const ProbeRecord& probe, const AttributionInputs& in);

// What is wrong with a run some of whose reads were of nobody knows what; empty: nothing.
std::string attribution_warning(const Maybe<AttributionRecord>& attribution);

}  // namespace blksweep
