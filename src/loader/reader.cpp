#include "loader/reader.h"

#include <cstring>

namespace blksweep {

Reader::Reader(const ReaderInputs& in)
    : PlanSource(in.catalog, in.plan, in.schedule, in.handoff, host_clock(), in.depth),
      in_(in),
      loop_(*this, in.engine, host_clock(),
            {in.depth, in.refill, in.plan.submit_batch, in.align, in.backwards}) {}

ReadAim Reader::aim(std::uint32_t tag, std::uint32_t done) {
  const PieceRange& range = range_of(tag);
  ReadAim aim;
  if (in_.plan.reads[range.read].source != kFromDevice) {
    if (in_.files.must_flush_before(range.read)) {
      return {ReadAim::kSubmitFirst};
    }
    aim.slot = in_.files.slot_of(range.read);
  }
  if (aim.slot >= 0) {
    aim.iov = Scatter::advance(in_.scatter.aim(tag, range.begin, range.end), done);
  }
  return aim;
}

void Reader::arrived(std::uint32_t tag) {
  const PieceRange& range = range_of(tag);
  in_.scatter.arrived(tag, range.begin, range.end);
}

void Reader::zero(const PieceRange& range) {
  for (std::uint32_t i = range.begin; i < range.end; ++i) {
    std::memset(in_.scatter.place(in_.plan.pieces[i]), 0, in_.plan.pieces[i].length);
  }
}

Result<> Reader::until_consumed(std::uint32_t batches) {
  in_.handoff.consumed.wait_for(batches);
  return {};
}

void Reader::published() {
  if (in_.on_ready) {
    in_.on_ready();
  }
}

}  // namespace blksweep
