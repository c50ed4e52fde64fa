#include "lab/ceiling.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <numeric>

#include "base/clock.h"
#include "base/fd.h"
#include "base/memory.h"
#include "base/rng.h"

namespace blksweep {
namespace {

constexpr std::uint64_t kMostRandomReads = std::uint64_t{1} << 20;

struct Load {
  const char* kind;
  std::uint32_t request_bytes;
  std::uint32_t depth;
};
constexpr Load kSequential{"sequential", 1U << 20, 32};
constexpr Load kRandom{"random", kPageBytes, 128};

struct Region {
  std::string node;
  std::uint64_t begin, end;
};

// Keeps `depth` reads in flight over a list of offsets until time or list end.
class Pump {
 public:
  Pump(const Load& load, const CeilingSettings& settings) : load_(load), settings_(settings) {}

  Result<> open(const std::string& node) {
    BLKSWEEP_TRY(arena_, PageBuffer::allocate({std::uint64_t{load_.request_bytes} * load_.depth}));
    EngineSettings es;
    es.depth = load_.depth;
    es.file_slots = 1;
    es.arena = arena_.span();
    BLKSWEEP_TRY(engine_, make_engine(settings_.engine, es));
    Fd fd(::open(node.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC));
    if (!fd) {
      return sys_error(errno, "open " + node);
    }
    iov_.resize(load_.depth);
    for (std::uint32_t i = 0; i < load_.depth; ++i) {
      iov_[i] = {arena_.data() + std::size_t{i} * load_.request_bytes, load_.request_bytes};
      free_.push_back(i);
    }
    done_.resize(load_.depth);
    return engine_->set_files(0, {&fd, 1});
  }

  Result<CeilingRecord> run(const std::vector<std::uint64_t>& offsets) {
    const std::int64_t begin = now_ns();
    const std::int64_t until = begin + settings_.duration.count();
    std::size_t next = 0;
    while (true) {
      const bool more = next < offsets.size() && now_ns() < until && !stopped();
      if (more) {
        BLKSWEEP_CHECK(submit(offsets, next));
      } else if (free_.size() == load_.depth) {
        break;
      }
      BLKSWEEP_CHECK(reap());
    }
    return record(now_ns() - begin);
  }

 private:
  bool stopped() const {
    return settings_.interrupt != nullptr && settings_.interrupt->load(std::memory_order_relaxed);
  }

  Result<> submit(const std::vector<std::uint64_t>& offsets, std::size_t& next) {
    group_.clear();
    while (!free_.empty() && next < offsets.size()) {
      const std::uint32_t tag = free_.back();
      free_.pop_back();
      group_.push_back({offsets[next++], &iov_[tag], 1, 0, tag});
    }
    return engine_->submit(group_);
  }

  Result<> reap() {
    BLKSWEEP_TRY(const std::size_t n, engine_->reap(done_, 1));
    for (std::size_t i = 0; i < n; ++i) {
      free_.push_back(done_[i].tag);
      if (done_[i].result < 0) {
        error_ = -done_[i].result;
      } else {
        bytes_ += static_cast<std::uint64_t>(done_[i].result);
        ++reads_;
      }
    }
    return {};
  }

  Result<CeilingRecord> record(std::int64_t elapsed_ns) const {
    if (error_ != 0) {
      return sys_error(error_, fmt::format("{} read", load_.kind));
    }
    if (stopped()) {
      return fail("interrupted", Exit::interrupted);
    }
    const double seconds = static_cast<double>(elapsed_ns) / 1e9;
    return CeilingRecord{load_.kind, load_.request_bytes, engine_->facts().depth,
                         static_cast<double>(bytes_) / seconds,
                         static_cast<double>(reads_) / seconds};
  }

  const Load& load_;
  const CeilingSettings& settings_;
  PageBuffer arena_;
  std::vector<iovec> iov_;
  std::unique_ptr<Engine> engine_;  // drains before the buffers go
  std::vector<std::uint32_t> free_;
  std::vector<ReadRequest> group_;
  std::vector<Completion> done_;
  std::uint64_t bytes_ = 0, reads_ = 0;
  int error_ = 0;
};

Result<Region> region_of(const CeilingSettings& settings) {
  Fd fd(::open(settings.device_node.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) {
    return sys_error(errno, "open " + settings.device_node);
  }
  const off_t size = ::lseek(fd.get(), 0, SEEK_END);
  if (size < 0) {
    return sys_error(errno, "size of " + settings.device_node);
  }
  const auto bytes = static_cast<std::uint64_t>(size);
  const std::uint64_t end = settings.end.n == 0 ? bytes : std::min(settings.end.n, bytes);
  Region r{settings.device_node, align_up(settings.begin.n, kPageBytes),
           align_down(end, kPageBytes)};
  if (r.begin + kSequential.request_bytes > r.end) {
    return fail(fmt::format("{} has fewer than {} in the region", settings.device_node,
                            format_bytes({kSequential.request_bytes})));
  }
  return r;
}

std::vector<std::uint64_t> offsets_of(const Load& load, const Region& region, std::uint64_t seed) {
  const std::uint64_t blocks = (region.end - region.begin) / load.request_bytes;
  std::vector<std::uint64_t> offsets;
  if (&load == &kRandom) {
    offsets = distinct_blocks(blocks, kMostRandomReads, seed);
  } else {
    offsets.resize(blocks);
    std::iota(offsets.begin(), offsets.end(), std::uint64_t{0});
  }
  for (std::uint64_t& o : offsets) {
    o = region.begin + o * load.request_bytes;
  }
  return offsets;
}

Result<CeilingRecord> measure_one(const Load& load, const Region& region,
                                  const CeilingSettings& settings) {
  const std::vector<std::uint64_t> offsets = offsets_of(load, region, settings.seed);
  Pump pump(load, settings);
  BLKSWEEP_CHECK(pump.open(region.node));
  return pump.run(offsets);
}

}  // namespace

std::vector<std::uint64_t> distinct_blocks(std::uint64_t blocks, std::uint64_t count,
                                           std::uint64_t seed) {
  const std::uint64_t n = std::min(blocks, count);
  Rng rng(seed, /*stream=*/0xCE11);
  std::vector<std::uint64_t> picked(n);
  // One block out of each of n equal strata: distinct without remembering what was drawn.
  __extension__ using Wide = unsigned __int128;
  for (std::uint64_t i = 0; i < n; ++i) {
    const auto begin = static_cast<std::uint64_t>(Wide{blocks} * i / n);
    const auto end = static_cast<std::uint64_t>(Wide{blocks} * (i + 1) / n);
    picked[i] = begin + rng.below(end - begin);
  }
  shuffle(std::span<std::uint64_t>(picked), rng);
  return picked;
}

Ceiling measure_ceiling(const CeilingSettings& settings) {
  Ceiling c;
  const Result<Region> region = region_of(settings);
  if (!region) {
    c.warnings.push_back(
        "ceiling: not measured: " + region.error().text +
        "; results are shown without it (reading a block device needs root or group "
        "disk)");
    return c;
  }
  for (const Load* load : {&kSequential, &kRandom}) {
    const Result<CeilingRecord> r = measure_one(*load, *region, settings);
    if (r) {
      c.records.push_back(*r);
    } else {
      c.warnings.push_back(fmt::format("ceiling: {} not measured on {}: {}", load->kind,
                                       region->node, r.error().text));
    }
  }
  return c;
}

}  // namespace blksweep
