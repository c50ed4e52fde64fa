#include "experiment/peer/peer_run.h"

#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <fstream>

#include "base/clock.h"
#include "base/text.h"
#include "experiment/observe.h"
#include "experiment/peer/peer_pages.h"
#include "experiment/peer/peer_report.h"
#include "experiment/proof/incomplete.h"
#include "experiment/proof/judge_caches.h"
#include "experiment/record/address_record.h"
#include "os/file/file.h"
#include "os/file/private_folder.h"
#include "os/file/trust.h"
#include "os/process/conversation.h"
#include "os/process/process_tree.h"

namespace blksweep {
namespace {

constexpr Nanos kLeaves = std::chrono::seconds(5);  // once it has said everything
constexpr std::size_t kMostSaid = 200;
constexpr std::uint64_t kMostPacked = 10;  // times smaller than the data is a form of them

// The last line that is not empty: of a Python traceback, what went wrong.
std::string last_words(const std::string& err) {
  const std::size_t end = err.find_last_not_of(" \r\n");
  if (end == std::string::npos) {
    return "";
  }
  const std::size_t begin = err.find_last_of('\n', end) + 1;
  return ": " + printable(err.substr(begin, std::min(end + 1 - begin, kMostSaid)));
}

// Of the data that it is made from, and of how: another one is in a folder of its own.
std::string form_folder(const PairRequest& q, const PeerSettings& settings) {
  if (settings.folder.empty()) {
    return "";
  }
  const Catalog& c = q.source.catalog;
  const std::string all =
      fmt::format("{}|{}|{}|{:x}|{:x}|{:x}", q.cell.peer, q.cell.batch, c.samples(),
                  XXH3_64bits(c.files.data(), c.files.size_bytes()),
                  XXH3_64bits(c.path_bytes.data(), c.path_bytes.size()), peer_program_hash(q.cell));
  std::string name = q.cell.peer.substr(q.cell.peer.rfind('/') + 1);
  std::ranges::replace(name, ':', '-');
  return fmt::format("{}/{}-{:016x}", settings.folder, name, XXH3_64bits(all.data(), all.size()));
}

Result<> check_form_folder(const PairRequest& q, const PeerSettings& settings) {
  if (settings.folder.empty()) {
    return {};
  }
  BLKSWEEP_CHECK(make_folder_of_own(settings.folder));
  BLKSWEEP_CHECK(check_way_to(settings.folder, Sticky::refused));
  if (filesystem_of(settings.folder) != filesystem_of(std::string(q.source.catalog.root))) {
    return fail(
        fmt::format("--peer-data {} is not on the filesystem of {}: what is read there "
                    "would say nothing of this disk",
                    settings.folder, q.source.catalog.root));
  }
  return {};
}

RunRecord begun(const PairRequest& q) {
  RunRecord r;
  r.repeat = q.repeat;
  r.seed = q.seed;
  r.plan_ns = q.planned.plan_ns;
  r.started_unix_ns = unix_ns();
  r.missing_samples = q.planned.plan.order.size();
  for (Maybe<std::uint64_t>* unknown :
       {&r.reads_submitted, &r.read_bytes, &r.gap_bytes, &r.io_errors, &r.short_reads,
        &r.staged_reads, &r.device_fallbacks, &r.window_peak_bytes, &r.arena_bytes,
        &r.horizon_bytes, &r.groups_cut}) {
    unknown->reset();
  }
  r.refill.reset();
  return r;
}

class PeerRun {
 public:
  PeerRun(const PairRequest& q, const PeerSettings& settings)
      : q_(q),
        settings_(settings),
        form_(form_folder(q, settings)),
        hashed_(samples_to_hash(q.source.catalog, q.verify, q.check, q.seed)) {}

  Result<MeasuredRun> measure();
  Result<> start();  // until it is ready

 private:
  Result<> ask();
  Result<PeerLine> hear(const char* awaited, std::int64_t until);
  tl::unexpected<Error> gone(const char* awaited);
  Result<> open_form();
  void judge_form(RunRecord& r) const;
  void judge_memory(RunRecord& r) const;
  Result<> read_epoch(RunNode& node, RunRecord& r);
  Result<> observe(const RunRequest& request, RunRecord& r);
  Result<> listen();
  Result<> hear_out();
  void say(const char* phase) const {
    if (q_.progress != nullptr) {
      q_.progress->phase.store(phase, std::memory_order_relaxed);
    }
  }

  const PairRequest& q_;
  const PeerSettings& settings_;
  std::string form_;
  std::vector<std::uint32_t> hashed_;
  std::optional<PrivateFolder> folder_;
  std::optional<Conversation> talk_;
  std::string loader_;
  std::optional<Source> form_source_;  // where it reads a form of its own
  std::optional<PlannedEpoch> form_planned_;
  PeerReport report_;
  std::vector<std::uint32_t> emitted_;
  std::optional<std::uint64_t> called_bytes_;  // after `go`
  bool maps_data_ = false;
  std::int64_t startup_ns_ = 0;
  std::size_t left_behind_ = 0;
};

Result<> PeerRun::ask() {
  BLKSWEEP_TRY(folder_, PrivateFolder::make("peer"));
  const std::string path = folder_->path() + "/question.json";
  std::ofstream out(path);
  out << question_text({q_.source.catalog, q_.cell, q_.planned, q_.seed, hashed_, form_});
  out.close();
  return out ? Result<>() : fail("write " + path + ": failed; is the disk full?");
}

tl::unexpected<Error> PeerRun::gone(const char* awaited) {
  const Conversation::Ended ended = talk_->end(kLeaves);
  const ProcessResult& p = ended.process;
  const std::string how =
      p.signal != 0 ? fmt::format("signal {}", p.signal) : fmt::format("status {}", p.exit_status);
  return fail(fmt::format("ended with {} {}{}", how, awaited, last_words(p.err)),
              p.signal == 0 && p.exit_status == static_cast<int>(Exit::unsupported)
                  ? Exit::unsupported
                  : Exit::failed);
}

Result<PeerLine> PeerRun::hear(const char* awaited, std::int64_t until) {
  const Heard heard = talk_->next_line(Nanos{std::max<std::int64_t>(until - now_ns(), 0)});
  switch (heard.what) {
    case Heard::What::line:
      return parse_peer_line(heard.line);
    case Heard::What::interrupt:
      return fail("interrupted", Exit::interrupted);
    case Heard::What::silence:
      return fail(fmt::format("was ended {} after {} (--peer-timeout)", awaited,
                              format_duration(settings_.patience)));
    case Heard::What::end:
      break;
  }
  return gone(awaited);
}

Result<> PeerRun::start() {
  BLKSWEEP_CHECK(check_form_folder(q_, settings_));
  BLKSWEEP_CHECK(ask());
  ProcessSpec spec{.argv = q_.cell.peer_program, .directory = folder_->path()};
  spec.argv.push_back(folder_->path() + "/question.json");
  spec.interrupt = &q_.stop;
  const std::int64_t begin = now_ns();
  BLKSWEEP_TRY(Conversation talk, Conversation::start(spec));
  talk_.emplace(std::move(talk));
  BLKSWEEP_TRY(const PeerLine ready,
               hear("before it was ready", begin + settings_.patience.count()));
  startup_ns_ = now_ns() - begin;
  if (ready.kind != PeerLine::Kind::ready) {
    return fail("did not say that it is ready before anything else");
  }
  loader_ = ready.loader;
  return ready.own_form ? open_form() : Result<>();
}

Result<> PeerRun::open_form() {
  if (form_.empty()) {
    return fail("reads a form of its own: name a folder for it with --peer-data");
  }
  BLKSWEEP_TRY(form_source_, open_source({form_, "", false}));
  BLKSWEEP_TRY(form_planned_, plan_epoch(*form_source_, q_.cell, q_.seed));
  return {};
}

// Its lines may come as its batches do, or when all is over.
Result<> PeerRun::listen() {
  const std::int64_t until = report_.begin_ns + settings_.patience.count();
  while (report_.end_ns == 0) {
    BLKSWEEP_TRY(PeerLine line, hear("before its end", until));
    if (line.kind == PeerLine::Kind::end) {
      report_.end_ns = now_ns();
    } else if (line.kind == PeerLine::Kind::batch) {
      report_.batches.push_back(std::move(line.batch));
    } else {
      return fail("said twice that it is ready");
    }
  }
  return {};
}

Result<> PeerRun::hear_out() {
  const std::int64_t until = now_ns() + settings_.patience.count();
  for (;;) {
    const Heard heard = talk_->next_line(Nanos{std::max<std::int64_t>(until - now_ns(), 0)});
    if (heard.what != Heard::What::line) {
      break;
    }
    BLKSWEEP_TRY(PeerLine line, parse_peer_line(heard.line));
    if (line.kind == PeerLine::Kind::decode && !report_.decode) {
      report_.decode = line.decode;
    } else if (line.kind == PeerLine::Kind::batch) {
      report_.batches.push_back(std::move(line.batch));
    } else {
      return fail("said something else than batches, and once what decoding was, after its end");
    }
  }
  const Conversation::Ended ended = talk_->end(kLeaves);
  talk_.reset();
  left_behind_ = ended.left_behind;
  const ProcessResult& p = ended.process;
  if (p.interrupted) {
    return fail("interrupted", Exit::interrupted);
  }
  return p.ok() ? Result<>()
                : fail(fmt::format("{}{}",
                                   p.timed_out ? "did not end by itself"
                                   : p.signal != 0
                                       ? fmt::format("ended with signal {}", p.signal)
                                       : fmt::format("ended with status {}", p.exit_status),
                                   last_words(p.err)));
}

// Everything that is watched begins just before it may read, and ends when it says that it has.
Result<> PeerRun::observe(const RunRequest& request, RunRecord& r) {
  std::vector<std::unique_ptr<Observer>> observers = observers_of(request);
  for (const auto& o : observers) {
    BLKSWEEP_CHECK(o->begin());
  }
  const TreeUse before = talk_->use();
  report_.begin_ns = now_ns();
  Result<> heard = talk_->say("go\n");
  if (heard) {
    heard = listen();
  }
  const TreeUse after = talk_->use();
  r.cpu_ns = std::max<std::int64_t>(after.cpu_ns - before.cpu_ns, 0);
  if (before.called_bytes && after.called_bytes && *after.called_bytes >= *before.called_bytes) {
    called_bytes_ = *after.called_bytes - *before.called_bytes;
  }
  maps_data_ = std::ranges::any_of(mapped_files(talk_->pid()), [&](const std::string& path) {
    return is_peer_data(path, q_.source.catalog.root, form_);
  });
  for (; !observers.empty(); observers.pop_back()) {
    BLKSWEEP_CHECK(observers.back()->end(r));
  }
  return heard;
}

// What it delivers must have come from there: nothing else of the data may be read before `go`.
void PeerRun::judge_form(RunRecord& r) const {
  if (!form_source_) {
    return;
  }
  const std::uint64_t form = form_source_->catalog.bytes().n;
  const std::uint64_t data = q_.source.catalog.bytes().n;
  if (form >= data) {
    return;
  }
  const std::string text = fmt::format("peer {}: its own form of the {} of data holds {}",
                                       q_.cell.peer, format_bytes({data}), format_bytes({form}));
  if (form < data / kMostPacked) {
    mark_incomplete(r, text + ": the rest was read elsewhere");
  } else {
    r.warnings.push_back(text);
  }
}

// A device proves what a cold run has read. Of a warm one the kernel's count of what system calls
// gave is all there is, and a peer may read without them: it is told, and no more.
void PeerRun::judge_memory(RunRecord& r) const {
  const std::uint64_t data = q_.source.catalog.bytes().n;
  const std::uint64_t form = form_source_ ? form_source_->catalog.bytes().n : data;
  const std::uint64_t all = std::min(data, form) * std::max(1U, q_.planned.plan.epochs);
  if (q_.cell.cache != CacheState::cold && !maps_data_ && called_bytes_.value_or(all) < all / 2) {
    r.warnings.push_back(fmt::format(
        "peer {}: its system calls read {} after go, of {}: it may have had the rest in "
        "memory of its own before; a cold run would show that",
        q_.cell.peer, format_bytes({*called_bytes_}), format_bytes({all})));
  }
}

Result<> PeerRun::read_epoch(RunNode& node, RunRecord& r) {
  say("starting a peer");
  Result<> started;
  BLKSWEEP_CHECK(node.inside([&] { started = start(); }));
  BLKSWEEP_CHECK(started);
  r.startup_ns = startup_ns_;
  r.peer_reads = form_source_ ? "own form" : "files";
  r.engine_features = loader_;
  const RunRequest request{form_source_ ? *form_source_ : q_.source,
                           q_.cell,
                           form_planned_ ? *form_planned_ : q_.planned,
                           q_.repeat,
                           q_.seed,
                           q_.verify,
                           q_.check,
                           nullptr,
                           node,
                           q_.probe,
                           form_source_ ? nullptr : q_.cache_probe,
                           q_.progress,
                           q_.stop,
                           q_.makers,
                           &*talk_};
  say("caches");
  BLKSWEEP_TRY(StartState state, enter_cache_state(request.source.catalog, q_.cell.cache, node));
  look_for_holders(state, request);
  r.resident_before = state.resident;
  r.warnings = state.warnings;
  warm_program(talk_->pid(), q_.source.catalog.root, form_);
  r.started_unix_ns = unix_ns();
  say("reading");
  Result<> heard = observe(request, r);
  heard = heard ? hear_out() : heard;
  say("verifying");
  if (q_.addresses != nullptr && !form_source_) {
    record_addresses(q_.addresses->after(q_.source), r);
  }
  emitted_ =
      record_report(r, report_, {q_.source, q_.cell, q_.planned, q_.seed, q_.verify, hashed_});
  judge_form(r);
  if (heard) {
    judge_memory(r);
  }
  EpochOutcome outcome;
  outcome.interrupted = q_.stop.load() && !heard;
  judge_run(r, request, outcome);
  judge_caches(r, request, state, heard.has_value() && r.missing_samples == 0);
  return heard;
}

Result<MeasuredRun> PeerRun::measure() {
  BLKSWEEP_TRY(RunNode node, RunNode::borrow(q_.source, q_.cell.node, q_.seed, q_.stop));
  BLKSWEEP_CHECK(node.place_peer());
  MeasuredRun out{begun(q_), false, std::nullopt};
  const Result<> done = read_epoch(node, out.record);
  out.emitted = std::move(emitted_);
  talk_.reset();  // whatever it is doing
  BLKSWEEP_CHECK(node.restore());
  out.interrupted = !done && done.error().exit_code == Exit::interrupted;
  if (!done && !out.interrupted) {
    mark_incomplete(out.record, fmt::format("peer {} {}", q_.cell.peer, done.error().message()));
  }
  if (left_behind_ > 0) {
    out.record.warnings.push_back(fmt::format(
        "peer {}: {} processes that it had started were there after its end, and were ended",
        q_.cell.peer, left_behind_));
  }
  return out;
}

}  // namespace

std::uint64_t peer_program_hash(const CellSettings& cell) {
  const auto& program = cell.peer_program;
  const std::string text = program.empty() ? "" : whole_text(program.back());
  return XXH3_64bits(text.data(), text.size());
}

Result<MeasuredRun> measure_peer(const PairRequest& request, const PeerSettings& settings) {
  return PeerRun(request, settings).measure();
}

Result<> try_peer(const PairRequest& request, const PeerSettings& settings) {
  if (const Result<> ready = PeerRun(request, settings).start(); !ready) {
    return fail(fmt::format("peer {} {}", request.cell.peer, ready.error().message()),
                ready.error().exit_code);
  }
  return {};
}

}  // namespace blksweep
