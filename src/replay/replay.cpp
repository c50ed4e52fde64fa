#include "replay/replay.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <set>

#include "base/clock.h"
#include "base/memory.h"
#include "base/rng.h"
#include "base/units.h"
#include "os/block/layer_facts.h"
#include "os/block/request_limits.h"
#include "os/cpu_awake.h"
#include "os/memory/memory_room.h"
#include "os/process/standstill.h"
#include "replay/doubts.h"
#include "replay/feed.h"
#include "replay/neighbours.h"
#include "replay/orders.h"
#include "replay/own_rate.h"
#include "replay/replay_source.h"
#include "replay/spin.h"
#include "replay/survey.h"
#include "replay/target.h"
#include "trace/trace_facts.h"

namespace blksweep {
namespace {

constexpr std::array<std::string_view, 3> kTimings{"original", "asap", "dependent"};
const std::set<std::string> kHarmless{"writes", "discards",     "flushes",
                                      "other",  kEmptyRequests, kReadsOfNothing};
constexpr std::int64_t kLeadTime = 20'000'000;  // from the first submission to time 0

Result<> check_timing(const TraceSurvey& s, const ReplaySettings& settings) {
  if (settings.timing != Timing::dependent || (s.threads && s.latencies)) {
    return {};
  }
  return usage_error(fmt::format(
      "--timing dependent needs {} of every read, which this trace does not tell (one that trace "
      "record wrote does): use original or asap",
      s.threads     ? "the latency"
      : s.latencies ? "the thread"
                    : "thread and latency"));
}

Result<> check_speed(const TraceSurvey& s, const ReplaySettings& settings) {
  constexpr double kLongest = 1e18;  // ns: 30 years, beyond which times have no room
  if (static_cast<double>(s.last_ns) / settings.speed < kLongest) {
    return {};
  }
  return usage_error(fmt::format("--speed {}: the trace's {} would take more than 30 years",
                                 settings.speed, format_duration(Nanos(s.last_ns))));
}

Result<> check_fio(const ReplaySettings& settings) {
  if (settings.fio && (settings.device.empty() || settings.timing != Timing::original)) {
    return usage_error("--fio-twin: fio replays block traces at their recorded times only");
  }
  if (settings.fio && !settings.writes.empty()) {
    return usage_error(
        "--fio-twin: the same reads are replayed twice; --writes does not go with it");
  }
  return {};
}

// Bytes of the buffers of all that may be in flight, and one to write from.
Result<Bytes> memory_for(const ReplayTarget& target, const TraceSurvey& found, bool writes) {
  const std::uint64_t place = align_up(target.largest(found), kPageBytes);
  const std::uint64_t bytes = place * (target.depth() + (writes ? 1U : 0U));
  const auto available = meminfo("MemAvailable");
  if (available && bytes > available->n / 2) {
    return usage_error(fmt::format(
        "{} requests in flight of up to {} need {} of memory, more than half of what is available: "
        "give a lower --depth",
        target.depth(), format_bytes({place}), format_bytes({bytes})));
  }
  return Bytes{bytes};
}

Result<ReplayTarget> open_checked(const TraceReader& trace, const ReplaySettings& settings,
                                  const TraceSurvey& found) {
  BLKSWEEP_CHECK(check_timing(found, settings));
  BLKSWEEP_CHECK(check_fio(settings));
  BLKSWEEP_TRY(ReplayTarget target, ReplayTarget::open(trace.facts().kind, settings, found));
  BLKSWEEP_CHECK(check_speed(found, settings));
  BLKSWEEP_CHECK(memory_for(target, found, !settings.writes.empty()));
  return target;
}

// No device makes less of it than it is.
void fill_randomly(std::span<std::byte> bytes) {
  Rng rng(0x626c6b);
  for (std::size_t at = 0; at + sizeof(std::uint64_t) <= bytes.size();
       at += sizeof(std::uint64_t)) {
    const std::uint64_t word = rng.next();
    std::memcpy(bytes.data() + at, &word, sizeof word);
  }
}

// What a target lacks; what moved nothing, or is no read, is nobody's loss.
std::uint64_t misplaced(const LeftOut& left_out) {
  std::uint64_t sum = 0;
  for (const auto& [reason, count] : left_out) {
    sum += kHarmless.contains(reason) ? 0 : count;
  }
  return sum;
}

tl::unexpected<Error> nothing_issued(const LeftOut& left_out, const std::string& way) {
  std::string reasons;
  for (const auto& [reason, count] : left_out) {
    reasons += fmt::format("{}{} {}", reasons.empty() ? "" : ", ", format_count(count), reason);
  }
  return fail(with_way("nothing of the trace can be issued: " + reasons, way));
}

// One replay: its parts in the order in which they must be made, and go.
class Replay {
 public:
  Replay(TraceReader& trace, const ReplaySettings& settings, ReplayTarget target,
         const TraceSurvey& survey)
      : trace_(trace),
        settings_(settings),
        target_(std::move(target)),
        survey_(survey),
        record_(settings.timing != Timing::asap, recorded_speed()) {}

  Result<ReplayReport> carry_out(const std::atomic<bool>& stop) {
    BLKSWEEP_TRY(const Bytes memory, memory_for(target_, survey_, writes()));
    BLKSWEEP_TRY(memory_, PageBuffer::allocate(memory));
    reads_ =
        memory_.span().first(memory.n / (target_.depth() + (writes() ? 1U : 0U)) * target_.depth());
    written_ = memory_.span().subspan(reads_.size());
    fill_randomly(written_);
    timeline_.resize(std::min(settings_.timeline, survey_.requests));
    BLKSWEEP_TRY(engine_, make_engine(EngineKind::io_uring,
                                      {.depth = target_.depth(),
                                       .file_slots = target_.files().slots(),
                                       .arena = memory_.span(),
                                       .one_request = limits_of(target_.device().disk)}));
    BLKSWEEP_CHECK(target_.files().start(*engine_));
    BLKSWEEP_TRY(const double own_rate, own_request_rate(target_.depth()));
    const bool dependent = settings_.timing == Timing::dependent;
    Feed feed(trace_, {recorded_speed(), writes()},
              [this](const TraceRecord& r, ReplayRequest& q) { return target_.place(r, q); });
    feed.begin();
    BLKSWEEP_CHECK(dependent ? by_threads(feed, stop) : in_order(feed, stop));
    return report(feed, own_rate, stop);
  }

  // The same, and then fio's own.
  Result<ReplayReport> with_fio(const std::atomic<bool>& stop) {
    BLKSWEEP_TRY(const std::vector<DueRead> reads, due_reads());
    const BlockDevice& device = target_.device();
    BLKSWEEP_TRY(const auto watch, DriverWatch::begin(device.whole_disk));
    BLKSWEEP_TRY(ReplayReport ours, carry_out(stop));
    BLKSWEEP_TRY(ours.at_driver, watch->end(reads));
    if (!ours.interrupted) {
      const Neighbours neighbours(device.disk, device.node);
      BLKSWEEP_TRY(ours.fio, replay_by_fio(reads,
                                           {.device = device.node,
                                            .whole_disk = device.whole_disk,
                                            .partition_start = device.partition_start,
                                            .depth = target_.depth()},
                                           stop));
      if (const std::string shared = neighbours.seen().shared; !shared.empty()) {
        ours.warnings.push_back("fio's replay: " + shared);
      }
    }
    return ours;
  }

 private:
  bool writes() const { return !settings_.writes.empty(); }
  // Dependent times are taken from the recorded ones as they are.
  double recorded_speed() const {
    return settings_.timing == Timing::dependent ? 1 : settings_.speed;
  }
  const std::string& path() const {
    return settings_.device.empty() ? settings_.folder : settings_.device;
  }

  WaysOut ways_from(const LeftOut& left_out) const {
    return ways_out({.sleeps = settings_.timing == Timing::original,
                     .timed = settings_.timing != Timing::asap,
                     .buffered = settings_.buffered,
                     .spin_ns = settings_.spin_ns,
                     .quantum_ns = clock_step(trace_.facts(), settings_),
                     .speed = settings_.speed,
                     .depth = target_.depth(),
                     .disk = target_.disk(),
                     .left_out = left_out});
  }

  Result<std::vector<DueRead>> due_reads() {
    Feed feed(trace_, {settings_.speed},
              [this](const TraceRecord& r, ReplayRequest& q) { return target_.place(r, q); });
    feed.begin();
    std::vector<DueRead> reads;
    Feed::Chunk chunk;
    do {
      BLKSWEEP_CHECK(feed.take(chunk));
      for (const ReplayRequest& r : chunk) {
        reads.push_back({r.recorded_ns, r.offset + target_.device().partition_start, r.bytes});
      }
    } while (!chunk.empty());
    trace_.rewind();
    return reads;
  }

  Result<> in_order(Feed& feed, const std::atomic<bool>& stop) {
    TraceOrder order(feed);
    BLKSWEEP_CHECK(issue(order, stop));
    return order.failed();
  }

  Result<> by_threads(Feed& feed, const std::atomic<bool>& stop) {
    BLKSWEEP_TRY(DependentOrder order, DependentOrder::gather(feed, settings_.speed, stop));
    return issue(order, stop);
  }

  Result<> issue(RequestOrder& order, const std::atomic<bool>& stop) {
    // What depends on a completion is late when that is seen late.
    const auto sleeps = settings_.timing == Timing::dependent ? SpinEngine::Sleeps::never
                                                              : SpinEngine::Sleeps::until_due;
    ReplaySource* issuing = nullptr;
    SpinEngine spinning(*engine_, sleeps, settings_.spin_ns, [&](const auto& request, auto issued) {
      issuing->handed_over(request, issued);
    });
    const bool timed = settings_.timing != Timing::asap;
    ReplaySource source({.order = order,
                         .files = target_.files(),
                         .engine = spinning,
                         .memory = reads_,
                         .written = written_,
                         .depth = target_.depth(),
                         .align = target_.align(),
                         .timed = timed,
                         .begin_ns = now_ns() + (timed ? kLeadTime : 0),
                         .room_since = [&] { return spinning.room_since(); },
                         .progress = settings_.progress,
                         .timeline = timeline_},
                        record_);
    issuing = &source;
    SpinClock clock(settings_.spin_ns);
    ReadLoop loop(source, spinning, clock, {.depth = target_.depth(), .align = target_.align()});
    const Neighbours neighbours(target_.disk(), path());
    const Standstill
        standstill;  // a stop while it sleeps is no stall, and is seen late all the same
    const Result<> done = loop.run(&stop);
    stood_still_ = standstill.seen();
    others_ = neighbours.seen();
    stalled_ns_ = spinning.stalled_ns();
    short_reads_ = source.short_reads();
    last_error_ = source.last_error();
    return done;
  }

  Result<ReplayReport> report(const Feed& feed, double own_rate, const std::atomic<bool>& stop) {
    ReplayReport r;
    r.left_out = feed.left_out();
    r.certificate = record_.certify({.quantum_ns = clock_step(trace_.facts(), settings_),
                                     .stalled_ns = stalled_ns_,
                                     .stood_still = stood_still_,
                                     .own_rate = own_rate,
                                     .misplaced = misplaced(r.left_out),
                                     .short_reads = short_reads_,
                                     .depth = target_.depth(),
                                     .ways = ways_from(r.left_out)});
    if (recorded_speed() != settings_.speed) {
      r.certificate.gap_error.reset();  // the gaps that were asked for are not the recorded ones
    }
    r.requests = r.certificate.issued;
    r.bytes = record_.bytes();
    r.writes = record_.writes();
    r.short_reads = short_reads_;
    r.rounded = target_.rounded();
    r.depth = target_.depth();
    r.interrupted = stop.load();
    if (r.requests == 0 && !r.interrupted) {
      return nothing_issued(r.left_out, ways_from(r.left_out).missing);
    }
    r.disk = target_.disk();
    tell_of_others(r);
    r.engine = engine_->facts();
    r.lateness = record_.lateness();
    r.tool_lateness = record_.tool_lateness();
    r.latency = record_.latency();
    r.recorded_latency = record_.recorded_latency();
    r.rate = record_.rate();
    std::erase_if(timeline_, [](const RequestTimes& t) { return t.ended_ns == kNotTold; });
    r.timeline = std::move(timeline_);
    r.warnings = warnings(r);
    return r;
  }

  // A full queue may be theirs: what held us back is then not known to be the device.
  void tell_of_others(ReplayReport& r) const {
    r.own_read_bytes = others_.own_read_bytes;
    r.others_read_bytes = others_.read_bytes;
    r.others_written_bytes = others_.written_bytes;
    r.shared = others_.shared;
    if (!r.shared.empty() && r.certificate.verdict == Verdict::held_back) {
      r.certificate.reasons.push_back(r.shared);
    }
  }

  std::vector<std::string> warnings(const ReplayReport& r) const {
    std::vector<std::string> out = defects_of(trace_.facts());
    if (!r.shared.empty()) {
      out.push_back(r.shared);
    }
    std::ranges::move(caches_beneath(target_.disk()), std::back_inserter(out));
    std::ranges::move(
        doubts_of(r, {trace_.facts(), survey_, settings_, target_.device().partition_start}),
        std::back_inserter(out));
    if (!survey_.whole) {
      out.emplace_back("the trace's writer did not finish: what follows its last block is missing");
    }
    for (const auto& [reason, count] : r.left_out) {
      out.push_back(fmt::format("left out: {} {}", format_count(count), reason));
    }
    if (r.short_reads > 0) {
      out.push_back(
          fmt::format("{} reads gave less than they should", format_count(r.short_reads)));
    }
    if (r.certificate.failed > 0) {
      out.push_back(
          sys_error(last_error_, fmt::format("{} {} failed, the last", r.certificate.failed,
                                             writes() ? "requests" : "reads"))
              .value()
              .text);
    }
    return out;
  }

  TraceReader& trace_;
  const ReplaySettings& settings_;
  ReplayTarget target_;
  const TraceSurvey& survey_;
  ReplayRecord record_;
  PageBuffer memory_;
  std::span<std::byte> reads_, written_;  // of it
  std::unique_ptr<Engine> engine_;        // drains before the memory goes
  Neighbours::Seen others_;
  std::int64_t stalled_ns_ = 0;
  std::string stood_still_;
  std::uint64_t short_reads_ = 0;
  std::vector<RequestTimes> timeline_;
  int last_error_ = 0;
};

}  // namespace

Result<Timing> parse_timing(std::string_view text) {
  const auto* const at = std::ranges::find(kTimings, text);
  return at == kTimings.end() ? Result<Timing>(usage_error(fmt::format(
                                    "'{}' is no timing: original, asap or dependent", text)))
                              : static_cast<Timing>(at - kTimings.begin());
}

std::string_view to_string(Timing timing) { return kTimings[static_cast<std::size_t>(timing)]; }

Result<> check_replay(const TraceReader& trace, const TraceSurvey& found,
                      const ReplaySettings& settings) {
  BLKSWEEP_CHECK(open_checked(trace, settings, found));
  return {};
}

Result<ReplayReport> replay(TraceReader& trace, const TraceSurvey& found,
                            const ReplaySettings& settings, const std::atomic<bool>& stop) {
  BLKSWEEP_TRY(ReplayTarget target, open_checked(trace, settings, found));
  std::optional<CpuAwake> awake;
  if (settings.awake) {
    BLKSWEEP_TRY(awake, CpuAwake::hold());
  }
  Replay one(trace, settings, std::move(target), found);
  return settings.fio ? one.with_fio(stop) : one.carry_out(stop);
}

}  // namespace blksweep
