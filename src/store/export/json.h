// JSON documents of stored records; the keys are documented in docs/results-schema.md.
//
// Unknown is null. A setting whose text is a whole decimal number is an integer, "true" and "false"
// are booleans, everything else stays text; sizes and times are given as `<name>_bytes` and
// `<name>_ns`, so that they are integers too.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "store/records.h"

namespace blksweep {

// One element of "runs" in `run --json`.
Json run_json(const CellRecord& cell, const RunRecord& run);
// Fills "peers" of our own runs: other loaders in the same round of the same session.
void add_peers(Json& runs);
Json cell_json(const CellRecord& cell);
Json quality_json(const QualityRecord& quality);
Json attribution_json(const Maybe<AttributionRecord>& attribution);
Json host_json(const HostRecord& host);
// Null where the repeats were a number.
Json stopping_json(const Maybe<StoppingRecord>& stopping);
Json ceiling_json(const CeilingRecord& ceiling);
// {"sequential": {"rounds", "bytes_per_s" (median), "least", "greatest", "reads_per_s",
// "samples_per_byte"}, "random":
// ...}
Json ceiling_figures_json(const std::vector<CeilingRecord>& ceilings);

}  // namespace blksweep
