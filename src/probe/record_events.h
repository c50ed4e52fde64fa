// What the kernel tells of requests and reads as they happen, for recorders: BPF programs put
// events into a ring, which is emptied every few milliseconds.
//
// Blocks:  each request of one disk when it is issued, complete, and when the driver hands it back.
// Files:   each read of a regular file by a process tree, when it has ended; before the first read
//          of an open file its path. The tree begins with the process that calls join().
// Order:   as events happened on one CPU; between CPUs within microseconds.
// Losses:  lost() counts what the ring, or a table of calls in flight, had no room for; of
//          requests, too, what the kernel skipped because the program was running on that CPU.
// End:     programs and maps go with the object, and with the process however it ends.
// Errors:  unsupported: no BPF here, with why and the way out.
// Threads: one owner; listeners are called in drain(). join() in any process.
// Source:  ebpf/{block,file}_record.bpf.c; docs/traces.md says what is seen and what is not.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/units.h"

namespace blksweep {

// Flags of both.
inline constexpr std::uint16_t kEventSync = 1, kEventReadahead = 2, kEventMetadata = 4,
                               kEventFua = 8, kEventInexact = 16;

struct BlockEvent {
  enum class Kind : std::uint8_t { issue, complete, requeue };
  enum class Op : std::uint8_t { read, write, flush, discard, other };
  Kind kind = Kind::issue;
  Op op = Op::other;
  std::uint16_t flags = 0;
  std::int64_t at_ns = 0;    // CLOCK_MONOTONIC
  std::uint64_t offset = 0;  // bytes on the whole disk
  std::uint64_t bytes = 0;
  std::uint64_t thread = 0;  // process << 32 | thread that was running
};

struct FileRead {
  enum class Form : std::uint8_t { read = 1, pread, readv, preadv, io_uring, fault };
  Form form = Form::read;
  std::uint16_t flags = 0;
  std::uint64_t file = 0;                  // of a path that was told before
  std::int64_t at_ns = 0, latency_ns = 0;  // latency -1: not known (faults)
  std::uint64_t offset = 0, bytes = 0;
  std::int64_t returned = 0;
  std::uint64_t thread = 0;
};

struct FileListener {
  std::function<void(std::uint64_t file, std::string path)> path;
  std::function<void(const FileRead&)> read;
};

class Recorder {
 public:
  virtual ~Recorder() = default;
  virtual Result<> start() = 0;
  virtual Result<> drain() = 0;
  // Detaches; drain() gives what is left.
  virtual void stop() = 0;
  virtual std::uint64_t lost() const = 0;
};

class FileRecorder : public Recorder {
 public:
  // The calling process and all that it starts from now on are recorded.
  virtual void join() const = 0;
  virtual const std::string& without() const = 0;  // what this kernel does not tell; empty: nothing
  // Page faults whose mapping could not be looked at; some are of memory without a file.
  virtual std::uint64_t faults_unseen() const = 0;
  // Calls that take bytes of files without a read: sendfile, splice, copy_file_range, those that
  // fill a mapping (MAP_POPULATE, MAP_LOCKED, mlock, mlockall, MADV_POPULATE); reads of io_uring
  // without a completion; and libaio's, which may be writes.
  virtual std::uint64_t calls_unseen() const = 0;
};

// `ring`: a power of two.
Result<std::unique_ptr<Recorder>> open_block_recorder(
    dev_t whole_disk, Bytes ring, std::function<void(const BlockEvent&)> listener);
Result<std::unique_ptr<FileRecorder>> open_file_recorder(Bytes ring, FileListener listener);

}  // namespace blksweep
