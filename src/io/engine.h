// Engine: carries reads out, and the writes of a replay. One virtual call per batch, none per
// request.
//
// Files:     requests name a file slot. set_files fills slots; slots may be refilled while reads on
//            their old file are in flight only if the engine says so (io_uring keeps a reference).
//            Closing a cold file costs as much as a read of it: what an engine does not keep goes
//            back to the caller, who knows a thread with time for it.
// Lifetime:  buffers and iovecs of a submitted request stay valid until its completion is reaped;
//            the destructor drains (waits for everything in flight), so declare the engine after
//            the buffers it reads into.
// Errors:    a failed read is a Completion with a negative errno, not an Error; an Error means that
//            the engine itself is broken.
// Threads:   one owner thread, which must be the one that made the first submit().
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"
#include "os/block/request_limits.h"

namespace blksweep {

struct ReadRequest {
  std::uint64_t offset;
  const iovec* iov;
  std::uint32_t iov_count;
  std::uint32_t slot;
  std::uint32_t tag;  // comes back in the completion
  bool write = false;
};

struct Completion {
  std::uint32_t tag;
  std::int32_t result;  // bytes read or written, or -errno
};

inline constexpr std::int64_t kForever = std::numeric_limits<std::int64_t>::max();

// no_op reads nothing: every request is answered at once, its memory as it was. What is left of a
// run is what the tool itself costs.
enum class EngineKind {
  io_uring,
  uring_sqpoll,
  uring_iopoll,
  libaio,
  psync,
  nowait,
  mmap,
  hint,
  no_op
};
std::string_view to_string(EngineKind k);

// All that read: what options, tests and benchmarks go over.
inline constexpr std::array kEngines{
    EngineKind::io_uring, EngineKind::uring_sqpoll, EngineKind::uring_iopoll, EngineKind::libaio,
    EngineKind::psync,    EngineKind::nowait,       EngineKind::mmap,         EngineKind::hint};

// How an engine can read files, whatever its settings.
struct EngineTraits {
  bool direct, buffered;
  bool queues;  // keeps reads in flight; else one, and submit() returns when it is done
};
EngineTraits traits_of(EngineKind k);

// madvise(2) on each mapping of a file (mmap).
enum class MapAdvice { normal, random, sequential, willneed };
std::string_view to_string(MapAdvice advice);

// The call that tells the kernel what will be read (hint).
enum class HintCall { fadvise, readahead };
std::string_view to_string(HintCall call);

class UpcomingReads;  // io/hint_engine.h

struct EngineSettings {
  unsigned depth = 32;
  unsigned file_slots = 64;
  // Where that is possible: worth it for files of many reads. Else a read that may be more than
  // `one_request` needs its descriptor until it is done.
  bool registers_files = true;
  std::span<std::byte> arena;  // registered as fixed buffers where that is possible
  MapAdvice advice = MapAdvice::normal;
  HintCall hint = HintCall::fadvise;
  std::uint64_t hint_window = std::uint64_t{64} << 20;  // bytes told ahead and not read yet
  UpcomingReads* upcoming = nullptr;                    // borrowed; none: nothing is told ahead
  RequestLimits one_request = {};  // what may need more goes to a worker of the kernel (io_uring)
  std::function<void()> on_thread = {};  // first of all in each thread that the engine starts
};

// What was asked of the kernel and what it gave, for the run record.
struct EngineFacts {
  std::string name;
  std::string features;  // "single_issuer defer_taskrun fixed_files fixed_buffers"
  std::string refused;   // "defer_taskrun: Invalid argument; ...", empty when nothing was
  unsigned depth = 0;    // reads that can really be in flight
};

// What an engine counts of itself; nothing: it has no such thing.
struct EngineCounts {
  // Time in calls that submit; of that, without the CPU: the call waited, or somebody else ran.
  std::optional<std::int64_t> submit_ns, submit_blocked_ns;
  std::optional<std::uint64_t> minor_faults, major_faults;  // of the thread that copies
  std::optional<std::uint64_t> answered_at_once;            // reads, without a wait
  std::optional<std::uint64_t> hinted_bytes;                // that the kernel took hints of
  std::string refused;  // the last hint that it did not: "fadvise: Invalid argument"
};

class Engine {
 public:
  virtual ~Engine() = default;
  virtual const EngineFacts& facts() const = 0;
  virtual EngineCounts own_counts() const { return {}; }  // by the owner
  // Slot first_slot + i refers to fds[i] from now on. In their places come those that the engine
  // needs no longer, the caller's to close: what the slots held, or descriptors it has registered.
  virtual Result<> set_files(std::uint32_t first_slot, std::span<Fd> fds) = 0;
  // The kernel has the batch at the latest when reap() is called next: its system call may hand it
  // over.
  virtual Result<> submit(std::span<const ReadRequest> batch) = 0;
  // With room for none: hands over what was submitted, and returns.
  // Waits until `wait_for` completions are there (0: does not wait), or to the time `until` of the
  // engine's clock (a host's is CLOCK_MONOTONIC; psync has nothing to wait for); copies up to
  // out.size().
  virtual Result<std::size_t> reap(std::span<Completion> out, std::size_t wait_for,
                                   std::int64_t until) = 0;
};

Result<std::unique_ptr<Engine>> make_engine(EngineKind kind, const EngineSettings& settings);

}  // namespace blksweep
