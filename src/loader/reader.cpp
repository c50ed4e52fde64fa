#include "loader/reader.h"

#include <cstring>

namespace blksweep {

Reader::Reader(const ReaderInputs& in)
    : ends_(in),
      source_({.catalog = in.catalog,
               .plan = in.plan,
               .schedule = in.schedule,
               .ends = ends_,
               .handoff = in.handoff,
               .clock = host_clock(),
               .until_consumed =
                   [&handoff = in.handoff](std::uint32_t batches) {
                     handoff.consumed.wait_for(batches);
                     return Result<>();
                   },
               .on_ready = in.on_ready},
              in.depth),
      loop_(source_, in.engine, host_clock(),
            {.depth = in.depth,
             .refill = in.refill,
             .group = in.plan.submit_batch,
             .align = in.align}) {}

ReadAim Reader::FileEnds::aim(std::uint32_t tag, const PieceRange& range, std::uint32_t done) {
  ReadAim aim;
  if (plan_.reads[range.read].source != kFromDevice) {
    if (files_.must_flush_before(range.read)) {
      return {ReadAim::kSubmitFirst};
    }
    aim.slot = files_.slot_of(range.read);
  }
  if (aim.slot >= 0) {
    aim.iov = Scatter::advance(scatter_.build(tag, range.begin, range.end), done);
  }
  return aim;
}

void Reader::FileEnds::zero(const PieceRange& range) {
  for (std::uint32_t i = range.begin; i < range.end; ++i) {
    std::memset(scatter_.place(plan_.pieces[i]), 0, plan_.pieces[i].length);
  }
}

}  // namespace blksweep
