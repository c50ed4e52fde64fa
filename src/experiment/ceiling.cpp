#include "experiment/ceiling.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <memory>
#include <numbers>
#include <utility>

#include "base/clock.h"
#include "base/fd.h"
#include "base/memory.h"
#include "base/rng.h"
#include "disk/disk_watch.h"
#include "io/read_list.h"
#include "os/block/blockdev.h"
#include "os/block/disk_use.h"
#include "os/file/denied.h"
#include "os/file/open_regular.h"
#include "os/process/standstill.h"

namespace blksweep {
namespace {

constexpr const char* kBelow =
    "it is read through a page cache that cannot be emptied (losetup --direct-io=on): open ";
constexpr std::uint64_t kMostRandomReads = std::uint64_t{1} << 20;
// Smaller sets are begun at their first byte: half a second and more even of a disk's outer zone,
// and a place in the middle would add a seek across all of it.
constexpr std::uint64_t kAlwaysWhole = std::uint64_t{64} << 20;
constexpr const char* kRights = "reading a block device needs root or group disk";
constexpr int kTries = 3;  // of a load in which this process stood still, or others used the disk
constexpr std::uint64_t kPlaceStream = 0xCE12;
constexpr std::uint64_t kDisplacingReads = 256;
constexpr std::uint64_t kDisplacingSeed = 0xCE13;

struct Load {
  const char* kind;
  std::uint32_t depth;
  std::vector<ByteRange> (*reads)(const DataMap&, std::uint64_t, std::uint32_t);
};
constexpr Load kRandom = {"random", 128, random_reads};
constexpr Load kLoads[] = {
    {"sequential", 32, sequential_reads}, {"sequential", 4, sequential_reads}, kRandom};

std::vector<ByteRange> blocks_at_random(const DataMap& data, std::uint64_t most,
                                        std::uint64_t seed) {
  std::vector<ByteRange> reads;
  for (const std::uint64_t block : distinct_blocks(data.bytes() / data.align(), most, seed)) {
    const std::uint64_t at = data.address(block * data.align());
    reads.push_back({at, at + data.align()});
  }
  return reads;
}

std::uint32_t longest_of(const std::vector<ByteRange>& reads) {
  std::uint64_t most = 0;
  for (const ByteRange& r : reads) {
    most = std::max(most, r.bytes());
  }
  return static_cast<std::uint32_t>(most);
}

// Sums up what the reads of a load bring.
class LoadSource final : public ReadList {
 public:
  using ReadList::ReadList;
  std::uint64_t bytes = 0, reads = 0;
  int error = 0;

 private:
  void ended(std::size_t /*read*/, const ReadDone& done, int errnum) override {
    error = errnum != 0 ? errnum : error;
    bytes += done.bytes;
    reads += errnum == 0 ? 1 : 0;
  }
};

// A load over a list of reads, until time or list end.
class Pump {
 public:
  Pump(const Load& load, const std::vector<ByteRange>& reads, const CeilingSettings& settings)
      : load_(load),
        reads_(reads),
        settings_(settings),
        slot_bytes_(longest_of(reads)),
        iov_(load.depth) {}

  Result<> open(const std::string& node) {
    BLKSWEEP_TRY(arena_, PageBuffer::allocate({std::uint64_t{slot_bytes_} * load_.depth}));
    Fd fd(::open(node.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC));
    if (!fd) {
      const int error = errno;
      const bool refused = error == EACCES || error == EPERM;
      return sys_error(error,
                       (refused ? denied_words(error, kRights) + ": " : "") + "open " + node);
    }
    BLKSWEEP_TRY(engine_,
                 make_engine_on(std::move(fd), settings_.engine, load_.depth, arena_.span()));
    return {};
  }

  Result<CeilingRecord> run() {
    const std::int64_t started = unix_ns();
    const std::int64_t begin = now_ns();
    LoadSource source(reads_, arena_.span(), iov_, begin + settings_.longest.count());
    ReadLoop loop(source, *engine_, host_clock(), {.depth = load_.depth});
    BLKSWEEP_CHECK(loop.run(settings_.interrupt));
    return record(source, started, now_ns() - begin);
  }

 private:
  Result<CeilingRecord> record(const LoadSource& source, std::int64_t started,
                               std::int64_t elapsed_ns) const {
    if (source.error != 0) {
      return sys_error(source.error, fmt::format("{} read", load_.kind));
    }
    if (settings_.interrupt != nullptr && settings_.interrupt->load(std::memory_order_relaxed)) {
      return fail("interrupted", Exit::interrupted);
    }
    CeilingRecord r;
    r.round = settings_.round;
    r.started_unix_ns = started;
    r.kind = load_.kind;
    r.request_bytes = slot_bytes_;
    r.depth = engine_->facts().depth;
    r.bytes = source.bytes;
    r.reads = source.reads;
    r.elapsed_ns = elapsed_ns;
    const double seconds = static_cast<double>(elapsed_ns) / 1e9;
    r.bytes_per_s = static_cast<double>(r.bytes) / seconds;
    r.reads_per_s = static_cast<double>(r.reads) / seconds;
    return r;
  }

  const Load& load_;
  const std::vector<ByteRange>& reads_;
  const CeilingSettings& settings_;
  std::uint32_t slot_bytes_;
  PageBuffer arena_;
  std::vector<iovec> iov_;
  std::unique_ptr<Engine> engine_;  // drains before the buffers go
};

// Reads that answer from pages of what lies below would be those of that cache, not of the device.
Result<> evict(const std::vector<std::string>& files) {
  for (const std::string& path : files) {
    Fd fd(open_kind_at(AT_FDCWD, path.c_str(), 0, S_IFREG));
    if (!fd) {  // a loop device may stand on another device
      fd = Fd(open_kind_at(AT_FDCWD, path.c_str(), 0, S_IFBLK));
    }
    if (!fd) {  // deleted, or of another mount namespace
      return sys_error(errno, kBelow + path);
    }
    ::fsync(fd.get());  // dirty pages are not evicted
    ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED);
  }
  return {};
}

// A drive's own cache still has of the data what was read last, and nothing tells of it: a second
// pass over 13 MB was up to twice as fast as the platters. Reads at random take its place.
void displace(const DataMap& data, const CeilingSettings& settings) {
  const std::vector<ByteRange> reads =
      blocks_at_random(data, kDisplacingReads, settings.seed ^ kDisplacingSeed);
  Pump pump(kRandom, reads, settings);
  if (pump.open(settings.device_node)) {
    [[maybe_unused]] const auto ignored = pump.run();  // what fails here fails in the figure, too
  }
}

// What makes a figure that of a busy disk, or of a process that stood still.
class Disturbance {
 public:
  explicit Disturbance(const std::string& disk)
      : disk_(disk), before_(counting_stat(disk)), watch_(DiskWatch::begin(disk)) {}

  std::string seen(const CeilingRecord& figure) {
    if (std::string held = standstill_.seen(); !held.empty()) {
      return held;
    }
    if (std::string set = watch_.changed(); !set.empty()) {
      return set;
    }
    const Result<DiskStat> after = before_ ? counting_stat(disk_) : before_;
    if (!after) {
      return "";  // not known; the runs say so
    }
    const OthersUse others = others_beside(*after - *before_, figure.bytes);
    return others.notable
               ? fmt::format("others used {} (read {}, wrote {} beside {})", disk_,
                             format_bytes({others.read_bytes}),
                             format_bytes({others.written_bytes}), format_bytes({figure.bytes}))
               : "";
  }

 private:
  const std::string& disk_;
  const Result<DiskStat> before_;
  DiskWatch watch_;
  const Standstill standstill_;
};

Result<CeilingRecord> measure_one(const Load& load, const DataMap& data,
                                  const CeilingSettings& settings) {
  const std::vector<ByteRange> reads = load.reads(data, settings.seed, settings.round);
  std::string held;
  for (int i = 0; i < kTries; ++i) {
    if (load.reads == sequential_reads) {
      displace(data, settings);  // before evict(): a cache below reads ahead of it
    }
    Pump pump(load, reads, settings);
    BLKSWEEP_CHECK(pump.open(settings.device_node));
    BLKSWEEP_CHECK(evict(settings.cached_files));
    Disturbance disturbance(settings.disk);
    Result<CeilingRecord> measured = pump.run();
    held = measured ? disturbance.seen(*measured) : "";
    if (held.empty()) {
      return measured;
    }
  }
  return fail(fmt::format("{} reads at depth {}, three times: {}", load.kind, load.depth, held));
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

std::vector<ByteRange> sequential_reads(const DataMap& data, std::uint64_t seed,
                                        std::uint32_t round) {
  std::vector<ByteRange> reads = data.reads(kSequentialCeilingRead);
  if (data.bytes() > kAlwaysWhole) {
    // The golden ratio spreads however many rounds there are evenly (Kronecker sequence).
    const double place = std::fmod(Rng(seed, kPlaceStream).unit() + round * std::numbers::phi, 1.0);
    const auto first = static_cast<std::ptrdiff_t>(place * static_cast<double>(reads.size()));
    std::rotate(reads.begin(), reads.begin() + first, reads.end());
  }
  return reads;
}

std::vector<ByteRange> random_reads(const DataMap& data, std::uint64_t seed, std::uint32_t round) {
  return blocks_at_random(data, kMostRandomReads, seed + round);
}

Ceiling measure_ceiling(const DataMap& data, const CeilingSettings& settings) {
  Ceiling c;
  if (data.bytes() == 0) {
    c.warnings.emplace_back(
        "ceiling: not measured: no extent of the data set has an address on its device that holds "
        "its bytes; results are shown without it");
    return c;
  }
  for (const Load& load : kLoads) {
    const Result<CeilingRecord> r = measure_one(load, data, settings);
    if (r) {
      c.records.push_back(*r);
      c.records.back().samples_per_byte = data.samples_per_byte();
    } else if (r.error().exit_code != Exit::interrupted) {
      std::string said =
          fmt::format("ceiling: a figure was not measured on {}: {}; results are shown without it",
                      settings.device_node, r.error().text);
      if (c.warnings.empty() || c.warnings.back() != said) {  // no device: once for all
        c.warnings.push_back(std::move(said));
      }
    }
  }
  return c;
}

}  // namespace blksweep
