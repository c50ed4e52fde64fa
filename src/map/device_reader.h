// DeviceReader: carries the reads of a latency map out, with O_DIRECT.
//
// One read at a time goes through preadv(2), so that its time has no ring in it; more in flight go
// through io_uring. Where that is refused every read goes alone and is recorded with depth 1.
//
// Errors:  reads that fail or are short are counted; the tenth is an Error.
// Lifetime: keeps descriptors of its own; the caller's may be closed.
// Threads: one owner; `stop` may be set by any.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/memory.h"
#include "io/engine.h"
#include "map/schedule.h"

namespace blksweep {

class DeviceReader : public MapReader {
 public:
  // `largest`: the longest read that will come at depth 1; above it reads are of 1 MiB at most.
  static Result<std::unique_ptr<DeviceReader>> open(const Fd& fd, std::uint32_t largest,
                                                    const std::atomic<bool>* stop);

  std::int64_t now() override;
  Result<> carry_out(const MapBatch& batch, std::int64_t until, std::vector<MapRead>& out) override;

  // Why there is no ring, in the kernel's words; empty: there is one.
  const std::string& ring_refused() const { return ring_refused_; }
  std::size_t errors() const { return errors_; }
  const std::string& last_error() const { return last_error_; }
  // All that was read, recorded or not.
  std::uint64_t bytes() const { return bytes_; }

 private:
  class Steps;  // of one batch, as a source of the loop
  explicit DeviceReader(const std::atomic<bool>* stop) : stop_(stop) { recent_.reserve(kRecent); }
  Result<> add_engine(EngineKind kind, unsigned depth, const Fd& fd);
  Result<> count_error(const MapStep& step, int error);
  double usual_latency() const;
  void remember(std::int64_t latency);

  static constexpr std::size_t kRecent = 12;
  const std::atomic<bool>* stop_;
  PageBuffer arena_;
  std::vector<iovec> iov_;
  std::unique_ptr<Engine> single_, many_;  // drain before the buffers go
  std::vector<std::int64_t> recent_;       // latencies of short distances
  std::size_t recent_at_ = 0;
  std::size_t errors_ = 0;
  std::uint64_t bytes_ = 0;
  std::string last_error_, ring_refused_;
};

}  // namespace blksweep
