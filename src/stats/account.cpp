#include "stats/account.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "stats/account_stalls.h"

namespace blksweep {
namespace {

constexpr std::array<std::string_view, kStalls> kStallWords{
    "start", "storage", "window", "decode", "staging", "copy", "consumer", "host", "done"};
constexpr std::array<std::string_view, kPhases> kPhaseWords{
    "queued", "device", "window",  "decode",  "decoded", "staging",
    "copy",   "staged", "compute", "release", "held"};

template <class Array>
std::int64_t sum(const Array& values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

// From the last lane to the first, so that what lies nearer to the accelerator is known.
void add_lanes(const AccountInput& in, Account& account) {
  const StallFinder stalls(in);
  IntervalSet later;
  for (std::size_t l = kLanes; l-- > 0;) {
    const auto lane = static_cast<Stage>(l);
    if (!in.lanes.has(lane)) {
      continue;
    }
    const IntervalSet busy = busy_of(in, lane);
    LaneAccount& a = *account.lanes.insert(account.lanes.begin(), LaneAccount{});
    a.lane = lane;
    a.busy = busy.measure();
    a.hidden = intersect(busy, later).measure();
    a.exposed = subtract(busy, later).measure();
    a.stalls = stalls.of(lane);
    later = unite(later, busy);
  }
  account.covered = later.measure();
}

void add_ideal(Account& account) {
  std::int64_t all = 0;
  for (const LaneAccount& a : account.lanes) {
    all += a.busy;
    if (a.busy > account.ideal) {
      account.ideal = a.busy;
      account.longest = a.lane;
    }
  }
  account.overlap = all - account.covered;
}

void add_phases(const AccountInput& in, Account& account) {
  std::int64_t read_before = in.epoch.begin;
  for (const BatchTimes& b : in.batches) {
    const auto phases = phases_of(b, read_before);
    for (std::size_t p = 0; p < kPhases; ++p) {
      account.phases[p] += phases[p];
    }
    account.batch_life += TimeSpan{b[Stage::read]->begin, b.consumed}.length();
    read_before = std::max(read_before, b[Stage::read]->end);
  }
}

bool fits(const TimeSpan& epoch, const TimeSpan& s) {
  return s.begin <= s.end && epoch.begin <= s.begin && s.end <= epoch.end;
}

std::size_t count_misfits(const AccountInput& in) {
  std::size_t n = 0;
  for (const BatchTimes& b : in.batches) {
    for (std::size_t s = 0; s < kStages; ++s) {
      const bool counts = s < kLanes || static_cast<Stage>(s) == Stage::release;
      n += counts && b.stages[s] && !fits(in.epoch, *b.stages[s]) ? 1 : 0;
    }
    n += fits(in.epoch, {b[Stage::read]->begin, b.consumed}) ? 0 : 1;
  }
  return n;
}

std::optional<std::int64_t> first_batch(const AccountInput& in) {
  if (in.batches.empty()) {
    return std::nullopt;
  }
  return in.batches.front().arrived() - in.epoch.begin;
}

std::optional<double> share(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? std::optional(static_cast<double>(part) / static_cast<double>(whole))
                   : std::nullopt;
}

std::string broken_lane(const LaneAccount& a, std::int64_t wall) {
  const auto says = [&](const char* what, std::int64_t left, std::int64_t right) {
    return left == right ? std::string()
                         : fmt::format("{} lane: {} ({} ns, not {} ns)", to_string(a.lane), what,
                                       left, right);
  };
  std::string text = says("hidden + exposed is not busy", a.hidden + a.exposed, a.busy);
  text = text.empty() ? says("busy + stalls is not wall", a.busy + a.stalled(), wall) : text;
  if (text.empty() && std::ranges::any_of(a.stalls, [](std::int64_t ns) { return ns < 0; })) {
    return fmt::format("{} lane: a stall is negative", to_string(a.lane));
  }
  return text;
}

}  // namespace

std::string_view to_string(Stall cause) { return kStallWords[static_cast<std::size_t>(cause)]; }
std::string_view to_string(Phase phase) { return kPhaseWords[static_cast<std::size_t>(phase)]; }

bool LaneSet::has(Stage lane) const {
  return lane == Stage::decode    ? decode
         : lane == Stage::copy    ? copy
         : lane == Stage::compute ? compute
                                  : lane == Stage::read;
}

std::int64_t LaneAccount::stalled() const { return sum(stalls); }

const LaneAccount* Account::lane(Stage which) const {
  const auto found = std::ranges::find(lanes, which, &LaneAccount::lane);
  return found == lanes.end() ? nullptr : &*found;
}

std::optional<double> Account::utilisation() const {
  const LaneAccount* compute = lane(Stage::compute);
  return compute == nullptr ? std::nullopt : share(compute->busy, wall);
}

std::optional<double> Account::ideal_share() const { return share(ideal, wall); }

IntervalSet memory_waits(const AccountInput& in) {
  std::vector<TimeSpan> spans;
  for (const MemoryWait& wait : in.read_waits) {
    spans.push_back(intersect(in.epoch, wait.span));
  }
  return IntervalSet(std::move(spans));
}

IntervalSet busy_of(const AccountInput& in, Stage lane) {
  std::vector<TimeSpan> spans;
  for (const BatchTimes& b : in.batches) {
    if (const auto& span = b[lane]) {
      spans.push_back(intersect(in.epoch, *span));
    }
    if (const auto& given_back = b[Stage::release]; given_back && lane == Stage::copy) {
      spans.push_back(intersect(in.epoch, *given_back));
    }
  }
  const IntervalSet busy(std::move(spans));
  return lane == Stage::read ? subtract(busy, memory_waits(in)) : busy;
}

std::array<std::int64_t, kPhases> phases_of(const BatchTimes& b, std::int64_t read_before) {
  std::array<std::int64_t, kPhases> phases{};
  const TimeSpan& read = *b[Stage::read];
  const std::int64_t last = std::max(b.consumed, read.begin);
  std::int64_t at = read.begin;
  const auto until = [&](Phase phase, std::int64_t t) {
    const std::int64_t end = std::clamp(t, at, last);
    phases[static_cast<std::size_t>(phase)] += end - at;
    at = end;
  };
  until(Phase::queued, std::min(read_before, read.end));
  until(Phase::device, read.end);
  Phase between = Phase::window;  // nobody takes the batch
  for (std::size_t l = 1; l < kLanes; ++l) {
    if (const auto& stage = b.stages[l]) {
      until(between, stage->wait);
      until(Phase::staging, stage->begin);
      until(kLaneWords[l].inside, stage->end);
      between = kLaneWords[l].after;
    }
  }
  if (const auto& given_back = b[Stage::release]; given_back && given_back->begin < last) {
    until(Phase::release, given_back->end);
  }
  until(between == Phase::staged ? Phase::held : between, last);  // nothing comes behind a copy
  return phases;
}

Account make_account(const AccountInput& in) {
  Account account;
  account.wall = in.epoch.length();
  account.first_batch = first_batch(in);
  account.misfits = count_misfits(in);
  add_lanes(in, account);
  add_ideal(account);
  add_phases(in, account);
  return account;
}

std::string broken_identity(const Account& a) {
  if (a.misfits > 0) {
    return fmt::format("{} intervals end before they begin or leave the epoch", a.misfits);
  }
  std::int64_t exposed = 0, hidden = 0;
  for (const LaneAccount& lane : a.lanes) {
    if (std::string text = broken_lane(lane, a.wall); !text.empty()) {
      return text;
    }
    exposed += lane.exposed;
    hidden += lane.hidden;
  }
  if (exposed != a.covered || hidden != a.overlap || a.covered > a.wall) {
    return fmt::format(
        "exposed {} ns, union {} ns, hidden {} ns, overlap {} ns, wall {} ns do not "
        "fit together",
        exposed, a.covered, hidden, a.overlap, a.wall);
  }
  return sum(a.phases) == a.batch_life ? ""
                                       : fmt::format("phases of batches add up to {} ns, not {} ns",
                                                     sum(a.phases), a.batch_life);
}

}  // namespace blksweep
