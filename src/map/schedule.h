// run_map: gives the parts of a latency map their shares of the time, interleaved.
//
// The part that is furthest behind its share goes on with its next batch; so whenever a map is cut
// short, every part has its share of what there was. No part takes more than its share of `time`
// (beyond what is in flight when it ends), however slow the device is; a part that has all the
// reads it may keep ends before.
//
// Errors:  those of the reader.
// Threads: the caller's. MapReader hides what reads: a device (map_measure.h), a model (tests).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "map/plan.h"
#include "model/latency_map.h"

namespace blksweep {

class MapReader {
 public:
  virtual ~MapReader() = default;
  virtual std::int64_t now() = 0;
  // Makes the reads of the batch, begins none at or after `until`, waits for those in flight, and
  // appends what was recorded in the order of its beginning.
  virtual Result<> carry_out(const MapBatch& batch, std::int64_t until,
                             std::vector<MapRead>& out) = 0;
};

struct MapShare {
  MapPart part;
  double share;            // of the time; those of a schedule add up to 1
  std::size_t most_reads;  // kept in the database at 40 bytes each
};

// The usual shares of the given parts, scaled to 1.
std::vector<MapShare> map_shares(const std::vector<MapPart>& parts);

struct MapSchedule {
  std::vector<MapShare> shares;
  Nanos time{0};
  std::function<bool()> stop;  // looked at between batches; may be empty
  std::function<void(MapPart, std::int64_t)> on_progress;  // time used so far, ns; may be empty
};

Result<> run_map(MapPlan& plan, MapReader& reader, const MapSchedule& schedule,
                 std::vector<MapRead>& out);

}  // namespace blksweep
