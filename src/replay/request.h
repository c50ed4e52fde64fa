// One request of a replay, and in which order they come.
//
// Units:   bytes of the target; nanoseconds from the beginning of the replay.
// Threads: an order has one owner, the thread of the read loop.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"
#include "trace/trace_record.h"

namespace blksweep {

struct ReplayRequest {
  std::int64_t due_ns = 0;             // where it has a time
  std::int64_t recorded_ns = 0;        // of the trace, over the speed
  std::int64_t latency_ns = kNotTold;  // that the trace has
  std::uint64_t offset = 0;
  std::uint64_t number = 0;  // in the trace's order, of those that are replayed
  std::uint64_t thread = 0;  // as recorded; 0: not told
  std::uint32_t bytes = 0;
  std::uint32_t place = 0;  // of the trace
  bool write = false;
};

// When one request was due, had room, was issued and had ended, and in which place of the queue.
struct RequestTimes {
  ReplayRequest request;
  unsigned slot = 0;
  std::int64_t room_ns = 0, issued_ns = 0;
  std::int64_t ended_ns = kNotTold;  // of a request that was not issued, or did not end
  bool failed = false;
};

// When a request counts as issued (spin.h), and when the call that handed it over began.
struct HandOver {
  std::int64_t issued_ns = 0, begun_ns = 0;
};

// Why accesses of a trace are not issued, and how many.
using LeftOut = std::map<std::string, std::uint64_t>;

// What moved bytes when it was recorded and has no place on the target.
inline constexpr const char* kReadsBeyondDevice = "reads beyond the end of the device";
inline constexpr const char* kWritesBeyondDevice = "writes beyond the end of the device";
inline constexpr const char* kReadsOfNothing = "reads at the end of a file, which gave nothing";
inline constexpr const char* kEmptyRequests = "empty reads";
inline constexpr const char* kReadsBeyondFile = "reads beyond the end of a file";
inline constexpr const char* kFilesNotThere = "files that are not there";
inline constexpr const char* kNotDirect = "files that cannot be read with O_DIRECT";

// A file that has so many bytes now has not what this read gave when it was recorded; only exact
// ones tell (a fault is of a whole page, wherever its file ends).
constexpr bool is_beyond(const TraceRecord& r, std::uint64_t file_bytes) {
  const bool exact = r.returned > 0 && (r.flags & kTraceInexact) == 0;
  return r.offset >= file_bytes ||
         (exact && static_cast<std::uint64_t>(r.returned) > file_bytes - r.offset);
}

class RequestOrder {
 public:
  enum class Next { request, blocked, end };
  virtual ~RequestOrder() = default;

  // blocked: another one comes when something completes, or after wait().
  virtual Next next(ReplayRequest& request) = 0;
  // Exchanges a request that waits for its time for one that is due before it; false: there is
  // none.
  virtual bool earlier(ReplayRequest& /*held*/) { return false; }
  virtual Result<> wait() { return {}; }
  virtual void completed(const ReplayRequest& /*request*/, std::int64_t /*now*/) {}
};

}  // namespace blksweep
