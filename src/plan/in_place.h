// In place: a reservoir whose samples are delivered from where they were read.
//
// Once the window is full, a reservoir emits one sample for each that arrives: the arrival itself,
// mostly, else a resident whose place in the window it takes. So arrivals are read one behind the
// other into a ring of rows, as without a shuffle, and where a resident leaves, the two exchange
// their bytes: the resident is delivered from the row of the arrival. A batch then lies side by
// side, a read needs one iovec, and of n samples and a window of k some k * ln(n / k) are copied to
// and fro (0.23 n at a tenth), where reading to places of the window costs a copy of each.
// Residents that stay to the end are exchanged to where they leave from then, one behind the other:
// k more, while arrivals are awaited, and the last batches lie side by side, too.
//
// Exchanges: who delivers a batch makes them before anybody sees it, batch after batch, once all
//          that arrives for its rows is there, and before the first one of an epoch the window.
// Epochs:  the next one fills spare places and then those that this one leaves, in their order:
//          else its last resident would wait for the last batch of this one, and nothing be read
//          ahead.
// Applies: to samples of one size of at most kSmallPiece that are read several at once: others are
//          read straight to their places without a copy, or cost more to exchange. Of a part of
//          what a reservoir drew, as a rank has, nearly all would be exchanged.
// Threads: pure functions.
#pragma once

#include "plan/schedule.h"
#include "plan/schedule_places.h"

namespace blksweep {

// Fills slot, gates, arena and in_place; emission and batch_begin are there already. False: it does
// not apply, or needs more room than there is; then they are as they were.
bool place_in_place(const Plan& plan, const ShuffleSettings& settings, const PlaceSettings& places,
                    Schedule& schedule);

}  // namespace blksweep
