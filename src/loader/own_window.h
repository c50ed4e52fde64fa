// A rank's part of an epoch where each rank has a window of its own (EpochPart::own_window).
//
// Agreed:   every rank draws the emissions of all, which costs as much as the whole epoch's plan;
//           so it knows the joined order without a word.
// Window:   bytes are each rank's; a share is of the rank's share of the epoch's memory, and 100 %
//           always holds its part.
// Errors:   as make_schedule(): a window that cannot hold what it must, the same for all ranks but
//           for what each has.
// Threads:  pure functions.
#pragma once

#include "base/result.h"
#include "loader/planned_epoch.h"
#include "loader/settings.h"

namespace blksweep {

struct OwnWindow {
  const Catalog& catalog;
  const MergeSettings& merge;
  ShuffleSettings shuffle;  // its window means nothing
  RelativeSize window;
  Bytes memory{0};  // of an epoch, all ranks together
  EpochPart part;
};

// `planned` has the plan of the whole; it becomes that of the part, with places and joined hash.
Result<> keep_own_window(const OwnWindow& own, PlannedEpoch& planned);

}  // namespace blksweep
