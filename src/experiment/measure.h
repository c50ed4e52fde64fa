// measure_run: one run of one cell, with everything a result must carry (docs/measurement.md).
//
// Brings the caches into the state that the cell asks for, starts the probe, runs the epoch, and
// turns what was seen into a RunRecord. Marks the record incomplete when anything was lost.
// Errors:  only what makes the run impossible; failed samples and refused facilities are in the
//          record. A stage that fails, or that cannot be made, makes the record incomplete: it says
//          why, and keeps what was delivered before.
// Threads: the caller's thread reads; see Epoch.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiment/run_node.h"
#include "loader/address_proof.h"
#include "loader/epoch.h"
#include "loader/source.h"
#include "os/memory/inode_holders.h"
#include "os/process/conversation.h"
#include "probe/block_probe.h"
#include "probe/cache/cache_probe.h"
#include "store/records.h"

namespace blksweep {

struct RunRequest {
  const Source& source;
  const CellSettings& cell;
  const PlannedEpoch& planned;
  std::uint32_t repeat = 0;
  std::uint64_t seed = 1;
  bool verify = false;
  bool check = true;                  // compare a sample of what the device gave with the files
  AddressProof* addresses = nullptr;  // borrowed, after before(); nullptr: they are not proven
  RunNode& node;  // borrowed; measure_run enters and leaves its limits around the epoch
  BlockProbe* probe = nullptr;
  CacheProbe* cache_probe = nullptr;  // of the files of the source
  Progress* progress = nullptr;
  const std::atomic<bool>& stop;
  const StageMakers& makers;
  const Conversation* reader =
      nullptr;  // borrowed: who reads, with all it starts; else this process
};

struct MeasuredRun {
  RunRecord record;
  bool interrupted = false;
  std::optional<Error> fault;               // of a stage; the record's reason says it, too
  std::vector<std::uint32_t> emitted = {};  // sample numbers, as they came; what was not is absent
};

Result<MeasuredRun> measure_run(const RunRequest& request);

// What was lost or disturbed makes a run incomplete.
void judge_run(RunRecord& run, const RunRequest& request, const EpochOutcome& outcome);

// Puts the caches into the state `cache` asks for; what is resident then, and warnings. What the
// node has pinned stays resident by intent; pages are warmed inside its memory limit.
struct StartState {
  Maybe<double> resident;  // NULL: unknown
  std::string unexamined;  // why
  std::vector<std::string> warnings;
  Maybe<InodeHolders> holders = std::nullopt;  // NULL: not looked for
};
Result<StartState> enter_cache_state(const Catalog& catalog, CacheState cache, RunNode& node);

}  // namespace blksweep
