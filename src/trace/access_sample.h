// AccessSample: some accesses of a trace, each as likely as any other, for a picture of where they
// go over time.
//
// Addresses: volumes and files one behind the other, by name: numbers of places are in the order in
//            which a program came by them. Each place goes up to the last byte that the sample has.
// Memory:    kMost records.
// Threads:   one owner.
// Source:    Vitter, "Random sampling with a reservoir", ACM TOMS 11(1), 1985 (algorithm R).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/rng.h"
#include "trace/trace_record.h"

namespace blksweep {

struct SampledAccess {
  std::int64_t time_ns = 0;
  std::uint64_t address = 0;  // of all places together
  std::uint64_t bytes = 0;
  TraceOp op = TraceOp::read;
};

class AccessSample {
 public:
  static constexpr std::size_t kMost = 20'000;
  void add(const TraceRecord& record);
  // By time. `names` of the places.
  std::vector<SampledAccess> accesses(const std::vector<std::string>& names) const;

 private:
  Rng rng_{0};
  std::uint64_t seen_ = 0;
  std::vector<TraceRecord> kept_;
};

}  // namespace blksweep
