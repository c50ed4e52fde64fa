// LoaderSettings: how samples are ordered, read, kept and handed over. Values only.
//
// Defaults: what a run has when nothing is said; docs/strategies.md says what each choice does.
// Relative: sizes in percent are of the bytes of an epoch (drain: of the window), shares of the
//           depth are of `depth`.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "base/units.h"
#include "io/engine.h"
#include "plan/catalog.h"
#include "plan/settings.h"
#include "stage/compute_time.h"
#include "stage/stage_settings.h"

namespace blksweep {

// A size that may be given relative to the data set: "64MiB" or "10%".
struct RelativeSize {
  Bytes bytes{0};
  double percent = 0;  // > 0: of `whole`, and bytes is ignored
  Bytes of(Bytes whole) const {
    return percent > 0
               ? Bytes{static_cast<std::uint64_t>(percent / 100 * static_cast<double>(whole.n))}
               : bytes;
  }
};

// Errors: usage: neither, or a share that is not above 0 % and at most 100 %.
Result<RelativeSize> parse_relative(std::string_view text);

// A number of reads that may be given as a share of the depth: "8" or "25%".
struct DepthShare {
  std::uint32_t reads = 0;
  double percent = 0;  // > 0: of the depth, and `reads` is ignored
  std::uint32_t of(std::uint32_t depth) const {
    const double share = percent > 0 ? percent / 100 * depth : reads;
    return std::clamp(static_cast<std::uint32_t>(share), 1U, depth);
  }
};

// What a worker hands to the kernel as one call.
enum class ReadScope { sample, batch };
std::string_view to_string(ReadScope scope);

// In which order the reads of one submission are handed to the kernel. `reverse` is a control: what
// watches the order must see it.
enum class SubmitOrder { plan, reverse };

// What a file is asked for by: its name, or its handle (dataset/file_handles.h).
enum class OpenBy { path, handle };

struct LoaderSettings {
  std::uint32_t workers = 0;  // > 0: threads that read a whole batch each (worker_reader.h)
  ReadScope scope = ReadScope::sample;
  Nanos decode_cpu{0};  // CPU time spun for each sample: by its worker, or by decode_threads
  ReadShare read_share;
  Order order = Order::lba;
  Bytes chunk{std::uint64_t{4} << 20};
  std::optional<RelativeSize> lookahead;  // order=elevator; without: lookahead_of() chooses
  RelativeSize sort_window;
  Merge merge = Merge::none;
  Bytes merge_gap{std::uint64_t{64} << 10};
  Bytes merge_max{std::uint64_t{1} << 20};
  std::optional<Bytes> merge_horizon;  // merge=device; without: horizon_of() chooses
  DepthShare merge_batch{0, 50};       // merge=kernel: reads sorted and submitted together
  Shuffle shuffle = Shuffle::none;
  RelativeSize window{Bytes{std::uint64_t{64} << 20}, 0};
  RelativeSize drain;      // shuffle=buffer: leaves before more is read, in percent of the window
  std::uint32_t hold = 0;  // shuffle=buffer: windows that a sample sees pass at most; 0: any number
  EngineKind engine = EngineKind::io_uring;
  MapAdvice madvise = MapAdvice::normal;       // mmap
  HintCall hint = HintCall::fadvise;           // hint
  Bytes hint_window{std::uint64_t{64} << 20};  // hint: told ahead and not read yet
  bool direct = true;
  std::uint32_t depth = 32;
  DepthShare refill{0, 25};  // reads that complete before more are submitted; in all orders
  SubmitOrder submit = SubmitOrder::plan;
  std::uint32_t openers = 1;  // threads that open files ahead of the reader
  OpenBy open_by = OpenBy::path;
  std::uint32_t batch = 256;
  std::uint32_t prefetch = 2;        // batches; with workers: of each
  std::uint32_t decode_threads = 0;  // 0: samples come as they are stored
  CopyKind copy = CopyKind::none;
  CopyTuning copy_tuning;
  ConsumerKind consumer = ConsumerKind::none;
  ComputeTime compute;
  std::uint32_t device_index = 0;  // of the GPU
  std::uint32_t epochs = 1;
  std::uint32_t first_epoch = 0;  // whose randomness the first one has
  EpochPart part;                 // with a first one left out, of one epoch
  bool epochs_apart = false;      // the next one's window is not filled during this one
};

// Whether the reader can have what else is asked for; a usage error that says why not.
Result<> check_reader(const LoaderSettings& settings);

// Within how many bytes of the order merge=device may follow the device instead; 0: it keeps the
// order. Only where the order is sorted by address, and never more than a chunk of it.
Bytes horizon_of(const LoaderSettings& settings);

// Bytes whose chunks wait for order=elevator, of an epoch of `whole`: half of the window that mixes
// them, as one round of the head then fills it; without a window eight chunks.
Bytes lookahead_of(const LoaderSettings& settings, Bytes whole);

// Reads of merge=kernel that are handed over together; 0: other merges have no such groups.
std::uint32_t submit_batch_of(const LoaderSettings& settings);

// Batches that workers may have in memory, the one that is consumed included; 0: no workers.
std::uint32_t batch_slots_of(const LoaderSettings& settings);

// Reads that complete before more are submitted. Whole groups of merge=kernel at least.
std::uint32_t refill_of(const LoaderSettings& settings);

}  // namespace blksweep
