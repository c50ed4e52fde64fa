#include "stats/account.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "stats/account_stalls.h"

namespace blksweep {
namespace {

constexpr std::array<std::string_view, kLanes> kLaneWords{"read", "decode", "copy", "compute"};
constexpr std::array<std::string_view, kStalls> kStallWords{
    "start", "storage", "window", "decode", "staging", "copy", "consumer", "host", "done"};
constexpr std::array<std::string_view, kPhases> kPhaseWords{
    "queued",  "device", "window", "decode",  "decoded",
    "staging", "copy",   "staged", "compute", "held"};

template <class Array>
std::int64_t sum(const Array& values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

bool has(const AccountInput& in, EpochLane lane) {
  switch (lane) {
    case EpochLane::read:
      return true;
    case EpochLane::decode:
      return in.decode;
    case EpochLane::copy:
      return in.copy;
    case EpochLane::compute:
      return in.compute;
  }
  return false;
}

// From the last lane to the first, so that what lies nearer to the accelerator is known.
void add_lanes(const AccountInput& in, Account& account) {
  const StallFinder stalls(in);
  IntervalSet later;
  for (std::size_t l = kLanes; l-- > 0;) {
    const auto lane = static_cast<EpochLane>(l);
    if (!has(in, lane)) {
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
  for (const BatchSpans& b : in.batches) {
    const auto phases = phases_of(b, read_before);
    for (std::size_t p = 0; p < kPhases; ++p) {
      account.phases[p] += phases[p];
    }
    account.batch_life += TimeSpan{b.read.begin, b.consumed}.length();
    read_before = std::max(read_before, b.read.end);
  }
}

bool fits(const TimeSpan& epoch, const TimeSpan& s) {
  return s.begin <= s.end && epoch.begin <= s.begin && s.end <= epoch.end;
}

std::size_t count_misfits(const AccountInput& in) {
  std::size_t n = 0;
  for (const BatchSpans& b : in.batches) {
    for (std::size_t l = 0; l < kLanes; ++l) {
      const auto span = span_of(b, static_cast<EpochLane>(l));
      n += span && !fits(in.epoch, *span) ? 1 : 0;
    }
    n += fits(in.epoch, {b.read.begin, b.consumed}) ? 0 : 1;
  }
  return n;
}

std::optional<std::int64_t> first_batch(const AccountInput& in) {
  if (in.batches.empty()) {
    return std::nullopt;
  }
  const BatchSpans& first = in.batches.front();
  const TimeSpan last = first.copy ? *first.copy : first.decode ? *first.decode : first.read;
  return last.end - in.epoch.begin;
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

std::string_view to_string(EpochLane lane) { return kLaneWords[static_cast<std::size_t>(lane)]; }
std::string_view to_string(Stall cause) { return kStallWords[static_cast<std::size_t>(cause)]; }
std::string_view to_string(Phase phase) { return kPhaseWords[static_cast<std::size_t>(phase)]; }

std::int64_t LaneAccount::stalled() const { return sum(stalls); }

const LaneAccount* Account::lane(EpochLane which) const {
  const auto found = std::ranges::find(lanes, which, &LaneAccount::lane);
  return found == lanes.end() ? nullptr : &*found;
}

std::optional<double> Account::utilisation() const {
  const LaneAccount* compute = lane(EpochLane::compute);
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

IntervalSet busy_of(const AccountInput& in, EpochLane lane) {
  std::vector<TimeSpan> spans;
  for (const BatchSpans& b : in.batches) {
    if (const auto span = span_of(b, lane)) {
      spans.push_back(intersect(in.epoch, *span));
    }
  }
  const IntervalSet busy(std::move(spans));
  return lane == EpochLane::read ? subtract(busy, memory_waits(in)) : busy;
}

std::array<std::int64_t, kPhases> phases_of(const BatchSpans& b, std::int64_t read_before) {
  std::array<std::int64_t, kPhases> phases{};
  const std::int64_t last = std::max(b.consumed, b.read.begin);
  std::int64_t at = b.read.begin;
  const auto until = [&](Phase phase, std::int64_t t) {
    const std::int64_t end = std::clamp(t, at, last);
    phases[static_cast<std::size_t>(phase)] += end - at;
    at = end;
  };
  // A stage with a ring: nobody takes the batch, there is no slot, the stage has it.
  const auto ring = [&](const TimeSpan& span, const std::optional<std::int64_t>& wait, Phase before,
                        Phase inside) {
    until(before, wait.value_or(span.begin));
    until(Phase::staging, span.begin);
    until(inside, span.end);
  };
  until(Phase::queued, std::min(read_before, b.read.end));
  until(Phase::device, b.read.end);
  if (b.decode) {
    ring(*b.decode, b.decode_wait_begin, Phase::window, Phase::decode);
  }
  const Phase waits = b.decode ? Phase::decoded : Phase::window;
  if (b.copy) {
    ring(*b.copy, b.copy_wait_begin, waits, Phase::copy);
  }
  if (b.compute) {
    until(b.copy ? Phase::staged : waits, b.compute->begin);
    until(Phase::compute, b.compute->end);
  }
  until(b.copy || b.compute ? Phase::held : waits, last);
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
