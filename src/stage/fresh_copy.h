// FreshCopy: host memory that is allocated for each batch, as a training loop does that builds a
// new tensor every time. The other end of make_host_copy(), whose ring is made once.
//
// begin() maps memory for the batch and copies its parts into it, which takes a page fault for each
// page; then a link, if there is one, carries it on from there. release() gives the memory back to
// the kernel: behind a link once the batch has arrived, else when its slot is used again. All of
// this is the stage's work, and none of it overlaps with the link: it is done by the copy thread.
//
// Ownership: owns the link.
// Errors:    no memory for a batch names its size; those of the link.
// Threads:   as CopyStage.
#pragma once

#include <cstdint>
#include <memory>

#include "stage/copy_stage.h"

namespace blksweep {

// Without a link (nullptr) the batch ends in the host memory.
std::unique_ptr<CopyStage> make_fresh_copy(std::uint32_t slots, std::unique_ptr<CopyStage> link);

}  // namespace blksweep
