// Whether the runs were of what they were meant to be: of the disk, where the plan says, alone.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "base/units.h"
#include "os/block/disk_use.h"
#include "stats/quantile.h"
#include "store/summary/rig_disk.h"

namespace blksweep {
namespace {

constexpr double kResident = 0.05;  // of the data when a cold run begins
constexpr double kFromDisk = 0.5;   // of what was asked for; less: the page cache answered
constexpr double kMapped = 0.5;     // share, and rank correlation; a true map has above 0.9
constexpr double kTooFast = 0.7;    // of the time that the disk's model needs
constexpr std::uint64_t kBeyondBuffer = 16 << 20;  // less may be in the drive's own buffer
constexpr double kMostSeeks = 1500;  // random requests a second of a rotating disk; 15,000 rpm: 600
constexpr std::size_t kLeastMapped = 2;  // runs

using Remarks = std::vector<RigRemark>;

bool of_experiment(const RigCell& c) {
  return c.control.empty() || c.control == "a/a" || c.control == "reverse";
}

CountedRuns all_runs(const RigDisk& disk) {
  CountedRuns runs;
  for (const RigCell& c : disk.cells) {
    if (of_experiment(c)) {
      runs.insert(runs.end(), c.all.begin(), c.all.end());
    }
  }
  return runs;
}

// What a cold run found there already.
bool remark_resident(const RigDisk& disk, Remarks& out) {
  std::vector<double> resident;
  std::size_t cold = 0;
  for (const RigCell& c : disk.cells) {
    if (of_experiment(c) && setting_of(c.cell->cell, "cache") == "cold" &&
        !keeps_pages(c.cell->cell)) {
      cold += c.all.size();
      for (const double share : values_of_runs(c.all, [](auto& r) { return r.resident_before; })) {
        if (share > kResident) {
          resident.push_back(share);
        }
      }
    }
  }
  if (resident.empty()) {
    return false;
  }
  out.push_back({RigWeight::broken, "cache",
                 fmt::format("data left in the cache: {} of {} cold runs began with {:.0f} % of it "
                             "resident (median)",
                             resident.size(), cold, median(resident) * 100)});
  return true;
}

Maybe<double> from_disk(const RunRecord& r) {
  return r.device_bytes && r.read_bytes.value_or(0) > 0
             ? Maybe<double>(static_cast<double>(*r.device_bytes) /
                             static_cast<double>(*r.read_bytes))
             : std::nullopt;
}

void remark_cached(const RigDisk& disk, Remarks& out) {
  std::vector<double> low;
  std::size_t runs = 0;
  for (const RigCell& c : disk.cells) {
    if (of_experiment(c) && !keeps_pages(c.cell->cell)) {
      const std::vector<double> shares = values_of_runs(c.all, from_disk);
      runs += shares.size();
      std::ranges::copy_if(shares, std::back_inserter(low), [](double s) { return s < kFromDisk; });
    }
  }
  if (2 * low.size() > runs) {
    out.push_back({RigWeight::broken, "cache",
                   fmt::format("data left in the cache: in {} of {} runs the disk read {:.0f} % of "
                               "what was asked for (median): the page cache gave the rest",
                               low.size(), runs, median(low) * 100)});
  }
}

// The same reason in most runs: there is next to nothing to compare.
void remark_incomplete(const RigDisk& disk, Remarks& out) {
  std::map<std::string, std::size_t> reasons;
  std::size_t left = 0;
  const CountedRuns runs = all_runs(disk);
  for (const StoredRun* r : runs) {
    if (r->run.incomplete && !r->run.incomplete_reason.starts_with("interrupted")) {
      ++reasons[r->run.incomplete_reason];
      ++left;
    }
  }
  if (2 * left <= runs.size() || reasons.empty()) {
    return;
  }
  const auto most = std::ranges::max_element(reasons, {}, [](auto& r) { return r.second; });
  out.push_back(
      {RigWeight::broken, "runs",
       fmt::format("{} of {} runs are left out: {}", left, runs.size(), printable(most->first))});
}

bool shared_disk(const RunRecord& r) {
  return share_of_others(r) && is_shared({.own_bytes = *r.own_read_bytes,
                                          .other_bytes = *r.others_read_bytes,
                                          .reads = r.device_reads.value_or(0)});
}

// Where others read, too, nobody can tell whose requests the strange ones are.
void remark_map(const RigDisk& disk, Remarks& out) {
  std::vector<double> share, order;
  std::size_t wrong = 0, seen = 0;
  for (const StoredRun* r : all_runs(disk)) {
    const auto& p = r->run.probe;
    if (p && p->in_plan && !shared_disk(r->run)) {
      ++seen;
      share.push_back(*p->in_plan);
      if (p->plan_order) {
        order.push_back(*p->plan_order);
      }
      wrong += share.back() < kMapped || p->plan_order.value_or(1) < kMapped ? 1 : 0;
    }
  }
  if (wrong < kLeastMapped || 2 * wrong <= seen) {
    return;
  }
  out.push_back(
      {RigWeight::broken, "addresses",
       fmt::format("the map of addresses is not that of this disk: in {} of {} runs its "
                   "requests were not where and when the plan has them ({:.0f} % of their "
                   "bytes in places of the plan{}, medians; a true map has above 90 %)",
                   wrong, seen, median(share) * 100,
                   order.empty()
                       ? ""
                       : fmt::format(", rank correlation with its order {:.2f}", median(order)))});
}

// A model is a bound of what the disk that it times can be.
bool remark_model(const RigDisk& disk, Remarks& out) {
  if (!disk.emulated()) {  // there a model is no more than a question
    return false;
  }
  for (const RigCell& c : disk.cells) {
    const std::vector<double> logs = values_of_runs(c.runs, [&](const RunRecord& r) {
      return r.prediction && r.prediction->error && r.bytes >= kBeyondBuffer
                 ? Maybe<double>(-std::log1p(*r.prediction->error))
                 : std::nullopt;
    });
    if (!of_experiment(c) || logs.empty()) {
      continue;
    }
    const auto fast = std::ranges::count_if(logs, [](double x) { return x < std::log(kTooFast); });
    if (2 * fast > std::ssize(logs)) {
      out.push_back(
          {RigWeight::broken, "disk",
           fmt::format(
               "the disk answers from memory: {} of {} runs of {} took less than {:.0f} % of "
               "the time that its model {} needs for their reads (median {:.0f} %)",
               fast, logs.size(), c.control.empty() ? "one cell" : c.control, kTooFast * 100,
               printable(c.runs.front()->run.prediction->model), std::exp(median(logs)) * 100)});
      return true;
    }
  }
  return false;
}

Maybe<double> requests_per_s(const RunRecord& r) {
  return r.device_reads && r.epoch_ns > 0 ? Maybe<double>(static_cast<double>(*r.device_reads) *
                                                          1e9 / static_cast<double>(r.epoch_ns))
                                          : std::nullopt;
}

double median_bytes(const CountedRuns& runs) {
  const std::vector<double> bytes =
      values_of_runs(runs, [](auto& r) { return Maybe<double>(static_cast<double>(r.bytes)); });
  return bytes.empty() ? 0 : median(bytes);
}

void remark_seeks(const RigDisk& disk, Remarks& out) {
  const RigCell& base = disk.base();
  const bool random = setting_of(base.cell->cell, "order") == "random" &&
                      setting_of(base.cell->cell, "merge") == "none";
  const bool small = median_bytes(base.runs) < static_cast<double>(kBeyondBuffer);
  if (!disk.rotates() || disk.emulated() || !random || small) {
    return;
  }
  const std::vector<double> rates = values_of_runs(base.runs, requests_per_s);
  if (!rates.empty() && median(rates) > kMostSeeks) {
    out.push_back(
        {RigWeight::broken, "disk",
         fmt::format("the disk answers from memory: {} random reads a second (median), and "
                     "it says that it rotates: no such disk does over {}",
                     format_rounded(median(rates)), format_rounded(kMostSeeks))});
  }
}

void remark_others(const RigDisk& disk, Remarks& out) {
  const CountedRuns runs = all_runs(disk);
  const std::vector<double> shares = values_of_runs(runs, share_of_others);
  const auto shared = std::ranges::count_if(runs, [](auto* r) { return shared_disk(r->run); });
  if (2 * shared > std::ssize(shares)) {
    out.push_back(
        {RigWeight::broken, "others",
         fmt::format("somebody else reads the disk: in {} of {} runs, {:.0f} % of our own "
                     "bytes (median)",
                     shared, shares.size(), median(shares) * 100)});
  }
}

}  // namespace

Maybe<double> share_of_others(const RunRecord& r) {
  return r.others_read_bytes && r.own_read_bytes.value_or(0) > 0
             ? Maybe<double>(static_cast<double>(*r.others_read_bytes) /
                             static_cast<double>(*r.own_read_bytes))
             : std::nullopt;
}

void watch_disk(const RigDisk& disk, std::vector<RigRemark>& out) {
  if (!remark_resident(disk, out)) {
    remark_cached(disk, out);
  }
  remark_map(disk, out);
  if (!remark_model(disk, out)) {
    remark_seeks(disk, out);
  }
  remark_others(disk, out);
  if (out.empty()) {  // else it says the same in other words
    remark_incomplete(disk, out);
  }
}

}  // namespace blksweep
