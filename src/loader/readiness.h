// Readiness: which batches are complete, which samples are lost, as pieces arrive; when each was
// read (handoff.times).
//
// Every (piece, position) pair is counted once per batch; a batch is ready when its count is zero,
// and batches are published in order. In place (plan/schedule.h) a position counts for the batch
// to whose row it is read, too. All arrays are sized beforehand.
// Threads: the reader's thread; failed() may be read by others for positions of published batches.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "loader/handoff.h"
#include "plan/schedule.h"

namespace blksweep {

struct ReadFailure {
  std::uint32_t position;
  int error;  // errno; 0: the file ends before the catalog says
};

struct PieceRange {
  std::uint32_t read, begin, end;
};

class Readiness {
 public:
  Readiness(const Plan& plan, const Schedule& schedule, Handoff& handoff);

  void submitted(const PieceRange& range, std::int64_t now);
  void complete(const PieceRange& range, std::int64_t now);
  // The pieces will never arrive: their samples are lost, their batches go on.
  void fail(const PieceRange& range, int error, std::int64_t now);
  // Publishes batches that are complete in order; true when there were any.
  bool publish(std::int64_t now);

  std::uint32_t published() const { return published_; }
  const std::vector<ReadFailure>& failures() const { return failures_; }
  const std::vector<std::uint8_t>& failed() const { return failed_; }  // by position

 private:
  template <class F>
  void for_each_position(std::uint32_t parcel, F f) const {
    if (parcel_begin_.empty()) {
      f(parcel);
      return;
    }
    for (std::uint32_t i = parcel_begin_[parcel]; i < parcel_begin_[parcel + 1]; ++i) {
      f(parcel_positions_[i]);
    }
  }
  template <class F>
  void for_each_batch(std::uint32_t position, F f) const {
    f(batch_of_[position]);
    if (const auto other = schedule_.awaited_by(plan_, position)) {
      if (const std::uint32_t b = batch_at(*other); b != batch_of_[position]) {
        f(b);
      }
    }
  }
  std::uint32_t batch_at(std::uint32_t emission) const;
  void index_shared_parcels();
  void count_pending();

  const Plan& plan_;
  const Schedule& schedule_;
  Handoff& handoff_;
  std::vector<std::uint32_t> batch_of_;      // position -> batch
  std::vector<std::uint32_t> parcel_begin_;  // shared parcels only: CSR into the next
  std::vector<std::uint32_t> parcel_positions_;
  std::vector<std::uint32_t> pending_;  // batch -> pairs not yet read
  std::vector<std::uint8_t> failed_;
  std::vector<ReadFailure> failures_;
  std::uint32_t published_ = 0;
};

}  // namespace blksweep
