// Scatter: turns pieces of a read into the iovecs that put each byte at its planned place.
//
// Neighbouring pieces that are neighbours in the arena too become one iovec (then the engine can
// use a registered buffer). Bridged gaps go to a sink that nobody reads. Lifetime: iovecs live in a
// table of one row per tag; a row is reused only after its completion.
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <span>
#include <vector>

#include "base/memory.h"
#include "plan/schedule.h"

namespace blksweep {

class Scatter {
 public:
  static Result<Scatter> make(const Plan& plan, const Schedule& schedule,
                              std::span<std::byte> arena, unsigned tags);

  // Iovecs of pieces [begin, end); the first byte of the request is the first piece's.
  std::span<iovec> build(std::uint32_t tag, std::uint32_t begin, std::uint32_t end);
  // Drops the first `bytes` of a request that came back short.
  static std::span<iovec> advance(std::span<iovec> iov, std::uint32_t bytes);
  std::byte* place(const Piece& piece) const {
    return arena_.data() + std::uint64_t{schedule_->slot[piece.parcel]} * kSlotUnit +
           piece.parcel_offset;
  }

 private:
  Scatter(const Plan& plan, const Schedule& schedule, std::span<std::byte> arena)
      : plan_(&plan), schedule_(&schedule), arena_(arena) {}

  const Plan* plan_;
  const Schedule* schedule_;
  std::span<std::byte> arena_;
  PageBuffer sink_;
  std::uint32_t row_ = 1;
  std::vector<iovec> table_;
};

}  // namespace blksweep
