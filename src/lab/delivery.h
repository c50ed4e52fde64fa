// Delivery: takes ready batches out of the window, copies and consumes them, and records what was
// really delivered.
//
// With a copy stage or a consumer each runs on its own thread; without both, on_ready() consumes on
// the reader's thread, because a thread switch per batch would be the whole cost.
//
// Memory of a batch is given back (handoff.consumed) when it is through, not before.
// Errors:    the first error of a stage stops the run and comes back from finish().
// Threads:   on_ready() on the reader's thread; emitted(), hashes() and times after finish().
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "lab/handoff.h"
#include "lab/place.h"
#include "lab/progress.h"
#include "plan/schedule.h"
#include "stage/compute_time.h"
#include "stage/consumer.h"
#include "stage/copy_stage.h"

namespace blksweep {

struct DeliveryInputs {
  const Catalog& catalog;
  const Plan& plan;
  const Schedule& schedule;
  std::span<const std::byte> arena;
  std::span<const std::uint8_t> failed;  // by position, final for published batches
  Handoff& handoff;
  CopyStage* copy = nullptr;  // none
  std::uint32_t staging_slots = 2;
  Consumer* consumer = nullptr;  // none
  ComputeTime compute;           // of the consumer
  std::uint64_t seed = 1;
  bool verify = false;  // hash every delivered sample
  Progress* progress = nullptr;
  const Binding* binding = nullptr;  // nullptr: threads run where the caller does
};

struct DeliveryTimes {                  // 0: the stage does not exist
  std::int64_t slot_wait_begin_ns = 0;  // waits for a slot of the staging ring since; 0: it did not
  std::int64_t staging_begin_ns = 0;    // the copy stage took the batch up
  std::int64_t copy_begin_ns = 0, copy_end_ns = 0;
  std::int64_t compute_begin_ns = 0, compute_end_ns = 0;
  std::int64_t consumed_ns = 0;
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

  const std::vector<DeliveryTimes>& times() const { return times_; }
  // Positions in the order in which they were really delivered, without the failed ones.
  const std::vector<std::uint32_t>& delivered() const { return delivered_; }
  // XXH3-64 of each delivered sample, beside delivered(); empty unless verifying.
  const std::vector<std::uint64_t>& hashes() const { return hashes_; }
  const CopyCost& copy_cost() const { return copy_cost_; }

 private:
  bool threaded() const { return in_.copy != nullptr || in_.consumer != nullptr; }
  void copy_loop();
  bool copy_all();
  bool may_begin(std::uint32_t batch, bool wait);
  bool begin_copy(std::uint32_t batch);
  bool finish_copy(std::uint32_t batch);
  void consume_loop();
  bool consume(std::uint32_t batch);
  bool record(std::uint32_t batch);
  Result<> hash(std::uint32_t batch);
  bool ended_by(std::optional<Error>& mine, const Error& error);
  void gather(std::uint32_t batch, std::vector<BatchPart>& parts) const;

  const DeliveryInputs in_;
  std::vector<DeliveryTimes> times_;
  std::vector<std::uint32_t> delivered_;
  std::vector<std::uint64_t> hashes_;
  std::vector<BatchPart> copy_parts_, record_parts_;
  std::uint32_t consumed_ = 0;
  std::vector<std::uint8_t> wrong_parts_;
  CopyCost copy_cost_;
  std::uint32_t begun_ = 0, finished_ = 0;  // batches of the copy stage
  // Each written by its thread before it stops, read after the join.
  std::optional<Error> copy_error_, consumer_error_;
  std::thread copier_, consumer_;
};

}  // namespace blksweep
