// Scatter: turns pieces of a read into the iovecs that put each byte at its planned place.
//
// Neighbouring pieces that are neighbours in the arena too become one iovec (then the engine can
// use a registered buffer). Bridged gaps go to a sink that nobody reads. Lifetime: iovecs live in a
// table of one row per tag; a row is reused only after its completion.
//
// Small pieces (kSmallPiece on average, or less) that would need more than two iovecs are read in
// one run into a staging area, one room per tag at the end of the arena, and copied on arrival: 256
// places of 4 KiB cut a read of 1 MiB in two at a driver's 128 segments, and cost more CPU than the
// copy.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/memory.h"
#include "plan/schedule.h"

namespace blksweep {

// What make() takes from the end of the arena; 0: no read is staged.
Bytes staging_area(const Plan& plan, const Schedule& schedule, unsigned tags);

struct ScatterRooms {
  unsigned tags = 1;
  Bytes staging{0};  // staging_area() of them
};

class Scatter {
 public:
  // `arena`: the schedule's and, behind it, the staging area.
  static Result<Scatter> make(const Plan& plan, const Schedule& schedule,
                              std::span<std::byte> arena, const ScatterRooms& rooms);

  // Iovecs of pieces [begin, end); the first byte of the request is the first piece's.
  std::span<iovec> build(std::uint32_t tag, std::uint32_t begin, std::uint32_t end);
  // As build(), or one iovec in the tag's staging room.
  std::span<iovec> aim(std::uint32_t tag, std::uint32_t begin, std::uint32_t end);
  // Copies what was staged to its places.
  void arrived(std::uint32_t tag, std::uint32_t begin, std::uint32_t end);
  std::uint64_t staged_reads() const { return staged_reads_; }
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
  std::span<std::byte> staging_;
  std::uint32_t room_ = 0;            // bytes of staging per tag
  std::vector<std::uint8_t> staged_;  // by tag
  std::uint64_t staged_reads_ = 0;
  std::vector<iovec> table_;
};

}  // namespace blksweep
