// What a trace says of one access, and what it says of itself.
//
// Two kinds, one record: of a block trace a `place` is a volume (an address space of its own), of a
// file trace a path. What a source does not tell is unknown, never 0.
//
// Units:   bytes; integer nanoseconds from the first record.
// Threads: values.
// Source:  docs/trace-format.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace blksweep {

enum class TraceKind : std::uint8_t { block = 1, file = 2 };
enum class TraceOp : std::uint8_t { read, write, discard, flush, other };
// By which call a file was read; of the kernel's own (readahead of a mapping): fault.
enum class CallForm : std::uint8_t { unknown, read, pread, readv, preadv, io_uring, fault };

inline constexpr std::uint32_t kTraceOps = 5;
inline constexpr std::uint32_t kCallForms = 7;

// TraceRecord::flags.
inline constexpr std::uint16_t kTraceSync = 1;
inline constexpr std::uint16_t kTraceReadahead = 2;
inline constexpr std::uint16_t kTraceMetadata = 4;
inline constexpr std::uint16_t kTraceFua = 8;
inline constexpr std::uint16_t kTraceInexact =
    16;  // offset or length is what the kernel could tell

inline constexpr std::int64_t kNotTold = -1;

struct TraceRecord {
  std::int64_t time_ns = 0;  // of the request; non-decreasing in a file
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;             // asked for
  std::int64_t returned = kNotTold;    // that the call gave
  std::int64_t latency_ns = kNotTold;  // from the request to its completion
  std::uint64_t thread = 0;            // process << 32 | thread; 0: not told
  std::uint32_t place = 0;             // an index into the names
  TraceOp op = TraceOp::read;
  CallForm form = CallForm::unknown;
  std::uint16_t flags = 0;

  bool operator==(const TraceRecord&) const = default;
};

// Where a trace comes from and what is wrong with it.
struct TraceFacts {
  TraceKind kind = TraceKind::block;
  std::string format;                         // "msr", "blktrace", "recorded"
  std::string origin;                         // the imported file, or the recorded command
  std::string recorded_on;                    // kernel and machine; empty: not known
  std::int64_t quantum_ns = 1;                // steps of the source's clock
  std::optional<std::int64_t> start_unix_ns;  // of time 0
  std::uint64_t lost = 0;                     // accesses that the recorder dropped
  std::uint64_t faults_unseen = 0;            // page faults that it could not look at
  std::uint64_t calls_unseen = 0;             // calls that read files, which it does not record
  std::uint64_t reordered = 0;                // records that were out of order in the source
  std::uint64_t skipped = 0;                  // bad lines
  bool incomplete = false;                    // the source says that it lacks something
  bool synthetic_times = false;  // times within a quantum were made up (spread), or all of them
  std::vector<std::string> notes;
};

const char* name_of(TraceKind kind);
const char* name_of(TraceOp op);
const char* name_of(CallForm form);

}  // namespace blksweep
