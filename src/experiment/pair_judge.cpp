// Whether a run and its fio twin did the same work from the same start (docs/fio-twin.md).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiment/pair.h"
#include "os/block/disk_use.h"
#include "os/block/layer_facts.h"

namespace blksweep {
namespace {

constexpr double kSameShare = 0.001;    // of the data; cold is what has less resident
constexpr double kSameRequests = 0.02;  // more apart is said
constexpr double kSameBytes = 0.01;     // at the device; more is another's work, or other metadata
constexpr double kOverLimit = 1.05;     // of a limit: what an interval of its accounting explains
// More beside fio than both were to read: beyond metadata, and for pages beyond what is read ahead.
constexpr double kMoreDirect = 1.1, kMoreBuffered = 1.5;
constexpr std::uint64_t kFewBytes = 1U << 20;
constexpr double kAllBytes = 0.99;  // of what was to be read: statistics lag by a request

double pinned_share(const Catalog& catalog, const CellSettings& cell) {
  return !catalog.has_bytes() ? 0 : cell.node.pin_pages / 100;
}

bool apart(std::uint64_t a, std::uint64_t b, double most) {
  const auto x = static_cast<double>(a);
  const auto y = static_cast<double>(b);
  return std::abs(x - y) > most * std::max(x, y);
}

std::string percent(const Maybe<double>& share) {
  return share ? fmt::format("{:.1f} %", *share * 100) : "an unknown share";
}

bool fills_zeros(const Plan& plan) {
  std::uint64_t zeros = 0, all = 0;
  for (const Read& r : plan.reads) {
    zeros += r.source == kZeros ? r.length : 0;
    all += r.length;
  }
  return static_cast<double>(zeros) > kSameBytes * static_cast<double>(all);
}

// Work of ours that fio has no part of.
std::string other_work(const PairRequest& q, const RunRecord& run) {
  const CellSettings& cell = q.cell;
  if (run.wrong_samples) {
    return "our run hashes every sample within its time (--verify), and fio does not";
  }
  if (fills_zeros(q.planned.plan)) {
    return "our run fills holes with zeros, and fio leaves them out";
  }
  if (cell.consumer != ConsumerKind::none) {
    return "a consumer sets the pace of our run, and fio has none";
  }
  if (cell.copy != CopyKind::none) {
    return "our run copies what it reads, and fio does not";
  }
  if (cell.decode_cpu.count() > 0) {
    return "our run spends CPU time on each sample (--decode-cpu), and fio does not";
  }
  return cell.decode_threads > 0 ? "our run decodes what it reads, and fio does not" : "";
}

// Files through the page cache beside direct reads of the device: one job of fio has one or other.
std::string mixed_ways(const PairRequest& q) {
  const bool buffered = !(q.cell.direct && q.source.direct_possible);
  const bool mixed = q.cell.merge == Merge::device && buffered &&
                     q.planned.plan.device_fallbacks > 0 &&
                     q.planned.plan.device_fallbacks < q.planned.plan.order.size();
  return mixed
             ? "our run reads the device directly and some files through the page cache; a job of "
               "fio has one way for all"
             : "";
}

bool reads_directly(const PairRequest& q) {
  return (q.cell.direct && q.source.direct_possible) || !opens_files(q.planned.plan);
}

bool from_memory(const PairRequest& q) {
  return q.cell.cache == CacheState::warm && !reads_directly(q);
}

bool all_from_device(Maybe<std::uint64_t> device_bytes, std::uint64_t all) {
  return device_bytes && static_cast<double>(*device_bytes) >= kAllBytes * static_cast<double>(all);
}

// Shown, and not concluded from O_DIRECT, which some files take and then read through the page
// cache all the same (compressed ones of btrfs, journalled data of ext4): every byte came from the
// device, on both sides, and none stayed in memory.
bool bypassed_the_cache(const PairRequest& q, const RunRecord& run, const FioRecord& fio) {
  const bool grew = run.resident_before && run.resident_after &&
                    *run.resident_after > *run.resident_before + kSameShare;
  return reads_directly(q) && !grew && all_from_device(run.device_bytes, fio.planned_bytes) &&
         all_from_device(fio.device_bytes, fio.planned_bytes);
}

std::string amount(const Maybe<std::uint64_t>& bytes) {
  return bytes ? format_bytes({*bytes}) : "an unknown amount";
}

std::string other_parts(const PairRequest& q, const RunRecord& run, const FioRecord& fio) {
  std::string text = fmt::format("our run began with {} of the data in the page cache, fio with {}",
                                 percent(run.resident_before), percent(fio.resident_before));
  if (reads_directly(q)) {
    text += fmt::format(
        ", and direct reads did not pass it by: of {} the device read {} beside our run and {} "
        "beside fio",
        format_bytes({fio.planned_bytes}), amount(run.device_bytes), amount(fio.device_bytes));
  }
  return text + ": use --cache cold or warm";
}

std::string not_cold(const PairRequest& q, const RunRecord& run, const FioRecord& fio) {
  const double most = kSameShare + pinned_share(q.source.catalog, q.cell);
  if (!fio.resident_before || *fio.resident_before > most) {
    return fmt::format("fio did not start cold: {} of the data was in the page cache",
                       percent(fio.resident_before));
  }
  const std::uint64_t expected = run.device_bytes_expected.value_or(0);
  return !fio.device_bytes || all_from_device(fio.device_bytes, expected)
             ? ""
             : fmt::format(
                   "the device read {} beside fio of the {} that only it could give: a "
                   "cache held the rest",
                   format_bytes({*fio.device_bytes}), format_bytes({expected}));
}

std::string other_start(const PairRequest& q, const RunRecord& run, const FioRecord& fio) {
  if (q.cell.cache == CacheState::cold) {
    return not_cold(q, run, fio);
  }
  const bool same = run.resident_before && fio.resident_before &&
                    std::abs(*run.resident_before - *fio.resident_before) <= kSameShare;
  return same || bypassed_the_cache(q, run, fio) ? "" : other_parts(q, run, fio);
}

// Whoever comes second finds there what the first one has read, whatever the page cache above
// holds.
std::string cache_below(const PairRequest& q) {
  if (q.cell.cache == CacheState::cold || from_memory(q) || !q.source.device) {
    return "";
  }
  const std::vector<std::string> kept = keeping_caches(q.source.device->disk);
  return kept.empty() ? ""
                      : fmt::format("{} holds what the first of the two has read: use --cache cold",
                                    kept.front());
}

// Our own run is judged by what this process made the disk read; of fio the disk's count is known.
std::string others_beside_fio(const PairRequest& q, const RunRecord& run, const FioRecord& fio) {
  if (!fio.device_bytes) {
    return "";
  }
  const std::uint64_t ours =
      run.own_read_bytes ? *run.own_read_bytes : run.device_bytes.value_or(0);
  const std::uint64_t wanted = from_memory(q) ? 0 : std::max(fio.planned_bytes, ours);
  const double most =
      static_cast<double>(wanted) * (reads_directly(q) ? kMoreDirect : kMoreBuffered);
  const bool much = static_cast<double>(*fio.device_bytes) > most + static_cast<double>(kFewBytes);
  // What is read ahead beyond the plan is nobody else's, nor are inodes that only one of the two
  // has to fetch where caches are kept.
  const bool cold = q.cell.cache == CacheState::cold;
  const bool many = cold && reads_directly(q) && *fio.device_bytes > wanted &&
                    is_shared({.own_bytes = wanted,
                               .other_bytes = *fio.device_bytes - wanted,
                               .reads = fio.requests.value_or(0)});
  if (!much && !many) {
    return "";
  }
  return from_memory(q)
             ? fmt::format("the device read {} beside fio, which was to read from memory",
                           format_bytes({*fio.device_bytes}))
             : fmt::format(
                   "the device read {} beside fio, which had {} to read: somebody else used it",
                   format_bytes({*fio.device_bytes}), format_bytes({wanted}));
}

// The kernel lets what a limited group saved while it was idle through at once: of a short run that
// is much, and not the same for both.
std::string burst(const PairRequest& q, const RunRecord& run, const FioRecord& fio) {
  const auto above = [](const Maybe<std::uint64_t>& amount, std::int64_t ns, std::uint64_t limit) {
    return amount && static_cast<double>(*amount) * 1e9 / static_cast<double>(ns) >
                         static_cast<double>(limit) * kOverLimit;
  };
  const auto over = [&](const Maybe<std::uint64_t>& bytes, const Maybe<std::uint64_t>& requests,
                        std::int64_t ns) {
    const NodeWish& w = q.cell.node;
    return (w.bandwidth_limit && above(bytes, ns, w.bandwidth_limit->n)) ||
           (w.iops_limit && above(requests, ns, *w.iops_limit));
  };
  const bool ours = over(run.device_bytes, run.device_reads, run.epoch_ns);
  return ours || over(fio.device_bytes, fio.requests, fio.runtime_ns)
             ? fmt::format(
                   "{} was faster than the limit: it lets a first burst through (read for seconds: "
                   "--epochs), and holds on one disk only",
                   ours ? "our run" : "fio")
             : "";
}

}  // namespace

std::string no_ratio_because(const PairRequest& q, const RunRecord& run, const FioRecord& fio) {
  if (run.incomplete) {
    return "our run is incomplete";
  }
  if (run.epoch_ns <= 0 || fio.runtime_ns <= 0) {
    return "nothing was read";
  }
  if (fio.read_bytes != fio.planned_bytes) {
    return fmt::format("fio read {} bytes where the plan has {}", fio.read_bytes,
                       fio.planned_bytes);
  }
  for (const std::string& reason :
       {other_work(q, run), mixed_ways(q), cache_below(q), other_start(q, run, fio),
        others_beside_fio(q, run, fio), burst(q, run, fio)}) {
    if (!reason.empty()) {
      return reason;
    }
  }
  return "";
}

std::string requests_differ_because(const PairRequest& q, const RunRecord& run,
                                    const FioRecord& fio) {
  if (!run.device_reads || !fio.requests ||
      !apart(*run.device_reads, *fio.requests, kSameRequests)) {
    return "";
  }
  if (fio.arm == "plain") {
    return "fio submits one read at a time, so that its neighbours do not meet";
  }
  if (run.device_bytes && fio.device_bytes &&
      apart(*run.device_bytes, *fio.device_bytes, kSameBytes)) {
    return fmt::format(
        "the device read {} beside our run and {} beside fio: metadata, read-ahead, "
        "or somebody else",
        format_bytes({*run.device_bytes}), format_bytes({*fio.device_bytes}));
  }
  if (run.groups_cut > 0) {
    return fmt::format("the window made our reader wait and cut {} groups short; fio has no window",
                       format_count(*run.groups_cut));
  }
  if (!q.cell.direct && opens_files(q.planned.plan)) {
    return "the page cache decides what is read ahead, by when each read comes";
  }
  return "not known: completions came in other groups";
}

}  // namespace blksweep
