// Emulated copy: a virtual link to an accelerator that is not there.
//
// No byte is moved. A copy takes its latency and its bytes' time at the link's bandwidth, by
// deadlines that do not depend on when the thread wakes up, and costs no CPU, as a copy engine's
// work does. Slots, order and lifetimes are those of any CopyStage.
//
// Errors:  Exit::interrupted from a finish() that a stop woke: that copy did not arrive.
#pragma once

#include <memory>
#include <stop_token>

#include "stage/copy_stage.h"
#include "stage/virtual_link.h"

namespace blksweep {

std::unique_ptr<CopyStage> make_emulated_copy(const LinkSettings& link, std::stop_token stop = {});

}  // namespace blksweep
