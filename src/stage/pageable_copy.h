// PageableCopy: the emulated link fed from memory that it cannot read itself.
//
// What a driver does for a cudaMemcpy from memory that is not pinned: the calling thread copies
// piece by piece into a small pinned buffer of two halves, and each piece goes over the link while
// the next one is copied into the other half. Those copies are real and cost the copy thread's CPU;
// the link is that of make_emulated_copy(). The slower of the two decides, and the thread is
// blocked meanwhile.
//
// Errors:  no memory for the two halves; Exit::interrupted where a stop woke it.
// Threads: as CopyStage.
#pragma once

#include <cstddef>
#include <memory>
#include <stop_token>

#include "stage/copy_stage.h"
#include "stage/virtual_link.h"

namespace blksweep {

inline constexpr std::size_t kBounceBytes = std::size_t{2} << 20;  // of one half

Result<std::unique_ptr<CopyStage>> make_pageable_copy(const LinkSettings& link,
                                                      std::stop_token stop = {});

}  // namespace blksweep
