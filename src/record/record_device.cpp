#include <fmt/format.h>

#include <thread>

#include "base/clock.h"
#include "probe/record_events.h"
#include "record/facts.h"
#include "record/record.h"
#include "record/trace_output.h"
#include "trace/import/outstanding.h"

namespace blksweep {
namespace {

constexpr auto kEmptied = std::chrono::milliseconds(10);

TraceOp op_of_event(BlockEvent::Op op) {
  switch (op) {
    case BlockEvent::Op::read:
      return TraceOp::read;
    case BlockEvent::Op::write:
      return TraceOp::write;
    case BlockEvent::Op::flush:
      return TraceOp::flush;
    case BlockEvent::Op::discard:
      return TraceOp::discard;
    case BlockEvent::Op::other:
      break;
  }
  return TraceOp::other;
}

// Requests with the latencies that their completions tell.
class Requests {
 public:
  explicit Requests(TraceOutput& output)
      : output_(output), outstanding_([this](const TraceRecord& r) {
          output_.add(r);
          return Result<>();
        }) {}

  void take(const BlockEvent& e) {
    const Result<> taken = pass_on(e);
    failed_ = failed_ && !taken ? taken : failed_;
  }
  Result<> end() {
    BLKSWEEP_CHECK(failed_);
    return outstanding_.give_all();
  }
  const Result<>& failed() const { return failed_; }

 private:
  Result<> pass_on(const BlockEvent& e) {
    TraceRecord r{.time_ns = e.at_ns, .offset = e.offset, .bytes = e.bytes, .thread = e.thread};
    r.op = op_of_event(e.op);
    r.flags = e.flags;
    switch (e.kind) {
      case BlockEvent::Kind::complete:
        return outstanding_.complete(r);
      case BlockEvent::Kind::requeue:
        return outstanding_.requeue(r);
      case BlockEvent::Kind::issue:
        break;
    }
    return outstanding_.issue(r);
  }

  TraceOutput& output_;
  Outstanding outstanding_;
  Result<> failed_;
};

static_assert(kEventSync == kTraceSync && kEventReadahead == kTraceReadahead &&
              kEventMetadata == kTraceMetadata && kEventFua == kTraceFua &&
              kEventInexact == kTraceInexact);

}  // namespace

Result<RecordReport> record_device(const DeviceRecording& s, const std::atomic<bool>& stop) {
  TraceFacts facts = recorded_facts(TraceKind::block, "requests of " + s.device.disk);
  Requests* requests = nullptr;
  BLKSWEEP_TRY(const auto recorder,
               open_block_recorder(s.device.whole_disk, s.ring,
                                   [&](const BlockEvent& e) { requests->take(e); }));
  BLKSWEEP_TRY(TraceOutput output, TraceOutput::begin(s.output, facts));
  BLKSWEEP_TRY([[maybe_unused]] const std::uint32_t only, output.place(s.device.disk));
  Requests taken(output);
  requests = &taken;
  BLKSWEEP_CHECK(recorder->start());
  const std::int64_t end = s.time.count() > 0 ? now_ns() + s.time.count() : INT64_MAX;
  while (!stop.load() && now_ns() < end && taken.failed()) {
    BLKSWEEP_CHECK(recorder->drain());
    BLKSWEEP_CHECK(output.advance(now_ns()));
    std::this_thread::sleep_for(kEmptied);
  }
  recorder->stop();
  BLKSWEEP_CHECK(recorder->drain());
  BLKSWEEP_CHECK(taken.end());
  facts.lost = recorder->lost();
  BLKSWEEP_CHECK(output.finish(facts));
  return RecordReport{.facts = facts, .records = output.records(), .places = 1};
}

}  // namespace blksweep
