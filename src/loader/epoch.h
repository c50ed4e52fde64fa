// Epoch: one pass of the pipeline, from the first submission to the last consumed batch.
//
// Everything is opened and allocated by prepare(); run() warms the stages up and then is the
// measured part, and what it returns is raw: positions, times, counts. Nothing in flight outlives
// its buffer: members are destroyed bottom-up, the engine (which drains) before the arena.
//
// Errors:  prepare() names what could not be had (memory, ring, device); what a stage could not
//          have concerns this run alone and is in refused(). run() fails only when the engine is
//          broken; failed samples and the fault of a stage are in the outcome, beside what was
//          delivered.
// Stop:    run() returns with interrupted = true and what was delivered so far. Emulated stages
//          wake up; others finish the batch that they have.
// Threads: prepare() and run() on the same thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "base/memory.h"
#include "loader/delivery.h"
#include "loader/epoch_reader.h"
#include "loader/file_slots.h"
#include "loader/plan_ahead.h"
#include "loader/planned_epoch.h"
#include "loader/scatter.h"
#include "loader/settings.h"
#include "loader/source.h"
#include "loader/spare_memory.h"
#include "loader/spot_check.h"
#include "loader/stages.h"
#include "stage/decode_stage.h"

namespace blksweep {

struct EpochOptions {
  std::uint64_t seed = 1;
  bool verify = false;
  Progress* progress = nullptr;
  PlaceThread place = {};  // of the threads that the epoch starts
  StageMakers makers = {};
  SpotCheck* spot = nullptr;      // borrowed; hashes what it drew as it is delivered
  SpareMemory* memory = nullptr;  // borrowed; where the arena comes from and goes to
  bool pulled = false;            // the caller takes the batches from delivery(), on another thread
  std::uint32_t descriptors = 0;  // that others take between prepare() and the end of run()
};

struct EpochOutcome {
  bool interrupted = false;    // by a stop, before the last batch was consumed
  std::optional<Error> fault;  // of a stage, which ended the run
  std::int64_t begin_ns = 0, end_ns = 0;
  std::int64_t cpu_ns =
      0;  // of this process: threads of the pipeline and the kernel's work for them
};

class Epoch {
 public:
  static Result<std::unique_ptr<Epoch>> prepare(const Source& source,
                                                const LoaderSettings& settings,
                                                const PlannedEpoch& planned,
                                                const EpochOptions& options);
  Result<EpochOutcome> run(const std::atomic<bool>& stop);
  // Why a stage could not be made; run() then reads nothing, and comes back with it.
  const std::optional<Error>& refused() const { return refused_; }

  const EpochReader& reader() const { return *reader_; }
  const std::vector<BatchTimes>& times() const { return handoff_.times; }  // by batch
  const Delivery& delivery() const { return *delivery_; }
  Delivery& delivery() { return *delivery_; }
  const EngineFacts& engine() const { return reader_->engine(); }
  // Of the planned reader; workers' engines count nothing.
  EngineCounts engine_counts() const { return engine_ ? engine_->own_counts() : EngineCounts{}; }
  const FileSlotsSettings& slots() const { return slots_; }
  const DecodeStage* decode() const { return decode_.get(); }   // nullptr: samples come as stored
  const CopyStage* copy() const { return copy_.get(); }         // nullptr: none
  const Consumer* consumer() const { return consumer_.get(); }  // nullptr: none

 private:
  Epoch() = default;
  Result<> allocate(const LoaderSettings& settings, const PlannedEpoch& planned);
  Result<> open_files(const Source& source, const LoaderSettings& settings, const Plan& plan);
  Result<> open_engine(const Source& source, const LoaderSettings& settings, const Plan& plan);
  Result<> make_reader(const Source& source, const LoaderSettings& settings,
                       const PlannedEpoch& planned);
  Result<> make_workers(const Source& source, const LoaderSettings& settings,
                        const PlannedEpoch& planned);
  Result<> make_stages(const Source& source, const LoaderSettings& settings,
                       const PlannedEpoch& planned);
  Result<> make_decode(const Source& source, const PlannedEpoch& planned, StageRequest& request);
  Result<> warm_up();
  template <class Made>
  Made made(Result<Made> stage);
  Result<> connect(const Source& source, const LoaderSettings& settings,
                   const PlannedEpoch& planned);

  EpochOptions options_;
  FileSlotsSettings slots_;
  Handoff handoff_;
  std::stop_source stages_stop_;
  std::optional<Error> refused_;
  PageBuffer arena_;
  struct Keeper {
    PageBuffer& arena;
    SpareMemory* to = nullptr;
    ~Keeper() {
      if (to != nullptr) {
        to->keep(std::move(arena));
      }
    }
  } keeper_{arena_};                          // when all that reads into the arena is gone
  std::vector<std::uint64_t> decoded_bytes_;  // by emission, as the index says
  std::unique_ptr<DecodeStage> decode_;
  std::unique_ptr<CopyStage> copy_;  // may have registered the arena or the decode ring
  std::unique_ptr<Consumer> consumer_;
  std::unique_ptr<Scatter> scatter_;
  std::unique_ptr<PlanAhead> ahead_;  // what a hint engine tells of
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<FileSlots> files_;
  std::unique_ptr<EpochReader> reader_;
  std::unique_ptr<Delivery> delivery_;  // stops its threads before the rest goes
};

}  // namespace blksweep
