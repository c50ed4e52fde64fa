// Delivery: takes ready batches out of the window, decodes, copies and consumes them, and records
// what was really delivered, and when (handoff.times).
//
// Each stage that there is runs on its own thread; without any, on_ready() consumes on the reader's
// thread, because a thread switch per batch would be the whole cost. A caller who pulls takes the
// place of the consumer: take(), parts(), give_back(), on a thread of its own.
//
// The accelerator is kept fed: the copy thread puts a batch on the consumer's queue as soon as its
// copy has begun (where the consumer can wait for that, else when it has arrived); without a copy
// stage a thread of its own does, when the batch is there. The consumer's thread sees what is
// through.
//
// In place (plan/schedule.h) the first thread that has a batch, decoding, copying or consuming,
// makes its exchanges.
//
// Memory of a batch is given back (handoff.consumed) when it is through, not before: also its bytes
// in the window when it was decoded long ago, because gates of the schedule know one such moment.
// Slots:     a stage with a ring (decode, copy) takes up a batch when the one that had its slot is
//            consumed. A wait is noted only when the slot is all that is missing: the batch is
//            there and the stage has nothing else under way.
// Errors:    the first error of a stage stops the run and comes back from finish().
// Threads:   on_ready() on the reader's thread; delivered(), hashes() and device_work() after
//            finish().
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "loader/exchanges.h"
#include "loader/handoff.h"
#include "loader/progress.h"
#include "loader/readiness.h"
#include "loader/spot_check.h"
#include "loader/thread_role.h"
#include "plan/schedule.h"
#include "stage/compute_time.h"
#include "stage/consumer.h"
#include "stage/copy_stage.h"
#include "stage/decode_stage.h"

namespace blksweep {

struct DeliveryInputs {
  const Catalog& catalog;
  const Plan& plan;
  const Schedule& schedule;
  std::span<std::byte> arena;
  std::span<const std::uint8_t> failed;  // by position, final for published batches
  Handoff& handoff;
  DecodeStage* decode = nullptr;                      // none
  std::span<const std::uint64_t> decoded_bytes = {};  // by emission, for the decode stage
  CopyStage* copy = nullptr;                          // none
  std::uint32_t staging_slots = 2;
  Consumer* consumer = nullptr;  // none
  std::uint32_t launched_ahead = 2;
  bool pulled = false;       // batches wait for take(); then there is no consumer
  ComputeTime compute = {};  // of the consumer
  std::uint64_t seed = 1;
  bool verify = false;        // hash every delivered sample
  SpotCheck* spot = nullptr;  // hashes some
  Progress* progress = nullptr;
  PlaceThread place = {};  // nullptr: threads run where the caller does
};

// What copying cost the copy thread itself.
struct CopyCost {
  std::uint64_t parts = 0, bytes = 0;
  std::int64_t cpu_ns = 0;
};

class Delivery {
 public:
  explicit Delivery(const DeliveryInputs& in);
  ~Delivery();
  Delivery(const Delivery&) = delete;
  Delivery& operator=(const Delivery&) = delete;

  void start();
  // Consumes what is ready, when no thread does.
  void on_ready();
  // Waits until everything that was published is consumed (or the run is stopped).
  Result<> finish();

  bool has(std::uint32_t batch) const;  // take() would not wait
  // Waits until it is so, no longer than `most`; whether it is.
  bool comes(std::uint32_t batch, std::chrono::nanoseconds most) const;
  // Waits for the batch and records it; false: the run was stopped before. In ascending order.
  bool take(std::uint32_t batch);
  // Of a batch that was taken: its samples that could be read, in order of emission.
  std::span<const BatchPart> parts(std::uint32_t batch) { return parts_of(batch, record_parts_); }
  // In ascending order; the batch's bytes are the reader's again.
  void give_back(std::uint32_t batch);

  // Positions in the order in which they were really delivered, without the failed ones.
  const std::vector<std::uint32_t>& delivered() const { return delivered_; }
  // XXH3-64 of each delivered sample, beside delivered(); empty unless verifying.
  const std::vector<std::uint64_t>& hashes() const { return hashes_; }
  const CopyCost& copy_cost() const { return copy_cost_; }
  // Of the accelerator, by its own clock; of copies also those whose batch nobody consumed any
  // more.
  const DeviceWork& device_work() const { return device_work_; }

 private:
  bool has_stages() const {
    return in_.decode != nullptr || in_.copy != nullptr || in_.consumer != nullptr;
  }
  void join();
  void decode_loop();
  void gather_room(std::uint32_t batch);
  void copy_loop();
  bool copy_all();
  bool may_begin(std::uint32_t batch) const;
  bool wait_to_begin(std::uint32_t batch);
  bool wait_for_slot(std::uint32_t batch, std::uint32_t slots, Stage stage);
  void passed(std::uint32_t batch, Stage stage, const TimeSpan& span);
  bool begin_copy(std::uint32_t batch);
  bool finish_copy(std::uint32_t batch);
  bool arrive(std::uint32_t batch, const CopyTimes& times);
  bool releases_late(std::uint32_t batch) const;
  bool release(std::uint32_t batch);
  void launch_loop();
  Nanos takes(std::uint32_t batch) const;
  bool launch(std::uint32_t batch, const BatchArrival& arrival);
  void consume_loop();
  bool consume(std::uint32_t batch);
  bool compute(std::uint32_t batch);
  bool record(std::uint32_t batch);
  Result<> hash(std::uint32_t batch);
  bool ended_by(const Error& error);
  const Counter& to_copy() const;
  const Counter& to_consume() const;
  void gather(std::uint32_t batch, std::vector<BatchPart>& parts) const;
  std::span<const BatchPart> parts_of(std::uint32_t batch, std::vector<BatchPart>& scratch) const;

  const DeliveryInputs in_;
  Exchanges exchanges_;  // of the first thread that has a batch
  std::vector<std::uint32_t> delivered_;
  std::vector<std::uint64_t> hashes_;
  std::vector<BatchPart> decode_parts_, copy_parts_, record_parts_;
  std::vector<std::uint64_t> decode_room_;  // beside decode_parts_
  std::uint32_t consumed_ = 0;
  std::vector<std::uint8_t> wrong_parts_;
  CopyCost copy_cost_;
  DeviceWork device_work_;
  std::uint32_t begun_ = 0, finished_ = 0;  // batches of the copy stage
  std::uint32_t launched_ = 0;              // of the thread that launches
  std::atomic<bool> failed_{false};         // claimed by the thread whose error is the first
  std::optional<Error> error_;              // written by that one, read after the join
  std::thread decoder_, copier_, consumer_;
};

}  // namespace blksweep
