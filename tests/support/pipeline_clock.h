// PipelineClock: an epoch of equal batches on a made-up clock, as the pipeline would run it with
// stages that take exactly so long.
//
// One batch is read at a time. Batch b may be read once batch b - prefetch - 1 is given back. Each
// further stage has one batch at a time, too; decoding takes up batch b once batch b - decode_slots
// is given back, copying once batch b - slots is. A stage of 0 ns does not exist.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "stats/account.h"

namespace blksweep::support {

struct PipelineTimes {
  std::int64_t read = 8, copy = 3, compute = 10;
  std::size_t batches = 100, prefetch = 2, slots = 2;
  std::int64_t decode = 0;
  std::size_t decode_slots = 3;
};

// A batch that waited for no slot.
inline BatchTimes batch_times(std::initializer_list<std::pair<Stage, TimeSpan>> stages,
                              std::int64_t consumed) {
  BatchTimes batch{.stages = {}, .consumed = consumed};
  for (const auto& [stage, span] : stages) {
    batch[stage] = without_wait(span);
  }
  return batch;
}

class PipelineClock {
 public:
  explicit PipelineClock(const PipelineTimes& t) : t_(t) {
    for (std::size_t b = 0; b < t.batches; ++b) {
      batches.push_back(carry(b));
    }
    end = batches.empty() ? 0 : batches.back().consumed;
  }

  Account account() const {
    return make_account({.epoch = {0, end},
                         .batches = batches,
                         .read_waits = waits,
                         .lanes = {t_.decode > 0, t_.copy > 0, t_.compute > 0}});
  }

  std::vector<BatchTimes> batches;
  std::vector<MemoryWait> waits;
  std::int64_t end = 0;

 private:
  std::int64_t consumed(std::size_t b, std::size_t before) const {
    return b < before ? 0 : batches[b - before].consumed;
  }

  BatchTimes carry(std::size_t b) {
    BatchTimes s;
    const std::int64_t memory = consumed(b, t_.prefetch + 1);
    if (memory > read_end_) {
      waits.push_back({{read_end_, memory}, static_cast<std::uint32_t>(b - t_.prefetch)});
    }
    const std::int64_t begin = std::max(read_end_, memory);
    s[Stage::read] = without_wait({begin, read_end_ = begin + t_.read});
    std::int64_t at = read_end_;
    const auto pass = [&](Stage stage, std::int64_t takes, std::int64_t& free, std::int64_t slot) {
      if (takes > 0) {
        const std::int64_t wait = std::max(at, free);
        at = std::max(wait, slot);
        s[stage] = {{at, free = at + takes}, wait};
        at = free;
      }
    };
    pass(Stage::decode, t_.decode, decode_end_, consumed(b, t_.decode_slots));
    pass(Stage::copy, t_.copy, copy_end_, consumed(b, t_.slots));
    pass(Stage::compute, t_.compute, compute_end_, 0);
    s.consumed = std::max(at, b == 0 ? 0 : batches[b - 1].consumed);
    return s;
  }

  const PipelineTimes t_;
  std::int64_t read_end_ = 0, decode_end_ = 0, copy_end_ = 0, compute_end_ = 0;
};

}  // namespace blksweep::support
