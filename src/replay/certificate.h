// The certificate of a replay: how late requests were issued, and by whose fault.
//
// Lateness: issued - due; issued: as spin.h says.
// Device:   the part in which as many requests were in flight as may be. A slot counts as free from
//           the poll *before* the one that saw the completion: what we may have seen late is ours.
// Tool:     the rest.
// Stalls:   polls further apart than the bound; what falls into one is the tool's.
// Free:     of untimed requests, which all wait for a slot: the share of the slots' time in which
//           one was free. That much of the pace is ours.
// Missing:  reads that failed or gave too little, and those that the target has no place for: above
//           1 % the rest is no replay of the trace.
// Verdict:  docs/replay.md has the bounds and what they were set from.
// Units:    nanoseconds of CLOCK_MONOTONIC, from the beginning of the replay.
// Threads:  one owner.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "replay/request.h"
#include "replay/ways_out.h"
#include "stats/histogram.h"

namespace blksweep {

enum class Verdict : std::uint8_t { faithful, held_back, unfaithful };
std::string_view to_string(Verdict verdict);

// Of lateness: what is below it counts as on time.
inline constexpr std::int64_t kLateBound = 1'000'000;
inline constexpr double kLateShare = 0.01;     // of the requests
inline constexpr double kStalledShare = 0.01;  // of the time
inline constexpr double kFreeShare = 0.1;      // of the slots' time
inline constexpr double kMissingShare = 0.01;  // of the reads
inline constexpr std::int64_t kRateWindow = 100'000'000;

struct LateQuantiles {
  std::int64_t p50 = 0, p99 = 0, p999 = 0, greatest = 0;
};

LateQuantiles quantiles_of(const LogHistogram& histogram, std::int64_t greatest);

struct RateStep {
  std::uint32_t due = 0, issued = 0;
};

struct Certificate {
  Verdict verdict = Verdict::unfaithful;
  std::vector<std::string> reasons;  // why it is not faithful, and what to try
  std::int64_t bound_ns = kLateBound;
  LateQuantiles lateness, tool, device;
  std::uint64_t issued = 0, failed = 0;
  std::uint64_t out_of_order = 0;       // issued after one that is behind them in the trace
  std::optional<double> rate_error;     // mean of |issued - due| / due over the windows
  std::optional<double> gap_error;      // the same of the times between requests
  std::optional<double> latency_error;  // of the mean against the recorded one
  std::optional<double> depth_error;    // likewise of requests in flight
  double depth_mean = 0;
  std::optional<double> recorded_depth_mean;
  std::optional<double> free_share;  // of untimed requests
  std::int64_t stalled_ns = 0, length_ns = 0;
  double own_rate = 0, peak_rate = 0;  // requests/s: without a device; in the fullest window
};

// What a replay was, request by request, in bounded memory.
class ReplayRecord {
 public:
  // `timed`: requests have a time at which they are due. `speed`: that recorded times are over.
  explicit ReplayRecord(bool timed, double speed = 1) : timed_(timed), speed_(speed) {}

  struct Issue {
    std::int64_t due_ns = 0;   // untimed: when there was room
    std::int64_t room_ns = 0;  // since when a slot was free for it
    std::int64_t issued_ns = 0;
  };
  void issued(const ReplayRequest& request, const Issue& at);
  struct Completion {
    std::uint64_t bytes = 0;  // that came
    std::int64_t latency_ns = 0, now_ns = 0;
  };
  void completed(const ReplayRequest& request, const Completion& done);
  void failed() { ++failed_; }

  struct Circumstances {
    std::int64_t quantum_ns = 1;  // of the trace's clock; below it nothing is on time
    std::int64_t stalled_ns = 0;
    std::string stood_still = {};  // how this process did (standstill.h); empty: it did not
    double own_rate = 0;           // requests/s without a device
    std::uint64_t misplaced = 0;   // reads of the trace that the target has no place for
    std::uint64_t short_reads = 0;
    unsigned depth = 1;
    WaysOut ways = {};  // what each reason ends in
  };
  Certificate certify(const Circumstances& circumstances) const;

  const LogHistogram& lateness() const { return late_; }
  const LogHistogram& tool_lateness() const { return tool_; }
  const LogHistogram& latency() const { return latency_; }
  const LogHistogram& recorded_latency() const { return recorded_latency_; }
  const std::vector<RateStep>& rate() const { return rate_; }
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t writes() const { return writes_; }  // that completed
  std::int64_t end_ns() const { return end_ns_; }

 private:
  void count_rate(std::int64_t at_ns, std::uint32_t RateStep::*counter);
  void judge(Certificate& c, const Circumstances& circumstances) const;

  const bool timed_;
  const double speed_;
  LogHistogram late_, tool_, device_, latency_, recorded_latency_;
  std::int64_t worst_late_ = 0, worst_tool_ = 0, worst_device_ = 0;
  std::vector<RateStep> rate_;
  std::uint64_t issued_ = 0, failed_ = 0, bytes_ = 0, out_of_order_ = 0, next_number_ = 0;
  std::uint64_t writes_ = 0;
  std::uint64_t told_ = 0;  // that have a recorded latency
  double tool_sum_ = 0;
  double latency_sum_ = 0, recorded_latency_sum_ = 0, told_latency_sum_ = 0;
  double gap_sum_ = 0, gap_error_sum_ = 0;
  std::int64_t last_recorded_ns_ = 0, last_issued_ns_ = 0, end_ns_ = 0;
  double recorded_end_ns_ = 0;  // at the recorded speed
};

}  // namespace blksweep
