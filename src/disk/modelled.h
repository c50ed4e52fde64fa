// What an emulated disk's model answered, beside what was seen of the disk: whether the machine
// kept up with the model. Lateness, which the daemon counts, begins where a request reaches it; one
// that waited before that for a processor, or for a daemon that stood still, is late in nobody's
// books.
//
// Threads: functions are independent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "os/block/blockdev.h"

namespace blksweep {

struct ModelledReplies {
  std::uint64_t replies = 0, writes = 0;  // since the disk's start
  double sum_ns = 0;                      // of the modelled times, real
};

// Of "loop3"; nullopt: it is none of ours, or its daemon does not answer.
std::optional<ModelledReplies> modelled_replies(const std::string& disk);

// What the reads that the kernel counted of a disk between two looks took of it at least, in the
// mean; 0: not known. The count begins where a request is made, so that a scheduler's is in it.
double counted_mean_ns(const DiskStat& grown);

// Why reads that took `seen_ns` in the mean at the disk between two looks are not the model's;
// or that nobody can tell, its daemon being held by then; empty: they are, or it is not known (few
// replies, or writes among them).
std::string lag_warning(const std::string& disk, const std::optional<ModelledReplies>& before,
                        const std::optional<ModelledReplies>& now, double seen_ns);

}  // namespace blksweep
