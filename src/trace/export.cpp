#include "trace/export.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <deque>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "os/file/file.h"
#include "os/file/output_place.h"
#include "trace/fio_iolog.h"
#include "trace/import/csv.h"
#include "trace/import/fields.h"

namespace blksweep {
namespace {

constexpr std::size_t kHeldBytes = std::size_t{1} << 20;

constexpr const char* kIologHead = "fio version 3 iolog\n";
constexpr std::uint32_t kBlktraceMagic = 0x65617407;  // at the head of each event

// One output file, written in large parts.
class Output {
 public:
  explicit Output(ReplacedFile file) : file_(std::move(file)) {}
  Result<> put(std::string_view bytes) {
    held_ += bytes;
    return held_.size() < kHeldBytes ? Result<>() : flush();
  }
  Result<> commit() {
    BLKSWEEP_CHECK(flush());
    return file_.commit();
  }

 private:
  Result<> flush() {
    BLKSWEEP_CHECK(file_.write(std::as_bytes(std::span(held_))));
    held_.clear();
    return {};
  }
  ReplacedFile file_;
  std::string held_;
};

// A format: gets the records in order, then the end.
class RecordExporter {
 public:
  virtual ~RecordExporter() = default;
  virtual Result<> begin(Output&) { return {}; }
  // True: it was written; false: the format has no such thing.
  virtual Result<bool> add(const TraceRecord& record, const std::string& name, Output& out) = 0;
  virtual Result<> end(Output&) { return {}; }
};

class ToCsv : public RecordExporter {
 public:
  explicit ToCsv(TraceKind kind) : kind_(kind) {}
  Result<> begin(Output& out) override { return out.put(csv_header(kind_) + "\n"); }
  Result<bool> add(const TraceRecord& r, const std::string& name, Output& out) override {
    BLKSWEEP_CHECK(out.put(csv_line(r, name)));
    return true;
  }

 private:
  TraceKind kind_;
};

class ToIolog : public RecordExporter {
 public:
  Result<> begin(Output& out) override { return out.put(kIologHead); }

  Result<bool> add(const TraceRecord& r, const std::string& name, Output& out) override {
    const char* action = action_of(r.op);
    if (action == nullptr) {
      return false;
    }
    if (!iolog_can_name(name)) {
      return fail(
          fmt::format("\"{}\" cannot stand in an iolog: names of up to 255 bytes without "
                      "blanks can; export it as csv",
                      printable(name)));
    }
    const std::uint64_t bytes = moved(r);
    if (bytes == 0 && r.op != TraceOp::flush) {
      return false;
    }
    last_us_ = r.time_ns / kMicro;
    if (r.place >= opened_.size() || !opened_[r.place]) {
      opened_.resize(std::max<std::size_t>(opened_.size(), r.place + 1));
      opened_[r.place] = true;
      BLKSWEEP_CHECK(out.put(fmt::format("{0} {1} add\n{0} {1} open\n", last_us_, name)));
      names_.push_back(name);
    }
    BLKSWEEP_CHECK(out.put(r.op == TraceOp::flush ? fmt::format("{} {} sync\n", last_us_, name)
                                                  : fmt::format("{} {} {} {} {}\n", last_us_, name,
                                                                action, r.offset, bytes)));
    return true;
  }

  Result<> end(Output& out) override {
    for (const std::string& name : names_) {
      BLKSWEEP_CHECK(out.put(fmt::format("{} {} close\n", last_us_, name)));
    }
    return {};
  }

 private:
  // What was asked for beyond the end of a file fio would take for an error, and end.
  static std::uint64_t moved(const TraceRecord& r) {
    return r.returned == kNotTold ? r.bytes : static_cast<std::uint64_t>(r.returned);
  }
  static const char* action_of(TraceOp op) {
    switch (op) {
      case TraceOp::read:
        return "read";
      case TraceOp::write:
        return "write";
      case TraceOp::discard:
        return "trim";
      case TraceOp::flush:
        return "sync";
      default:
        return nullptr;
    }
  }
  std::vector<bool> opened_;
  std::vector<std::string> names_;
  std::int64_t last_us_ = 0;
};

// Version 7, our byte order. Each request is queued and issued at its time (fio's reader takes the
// one, blkparse's tools the other), and completed where its latency is told.
class ToBlktrace : public RecordExporter {
 public:
  Result<bool> add(const TraceRecord& r, const std::string& name, Output& out) override {
    if (r.op == TraceOp::other || r.bytes > UINT32_MAX || r.offset % kSector != 0) {
      return false;
    }
    BLKSWEEP_CHECK(complete_until(r.time_ns, out));
    Event e{.time = static_cast<std::uint64_t>(r.time_ns),
            .sector = r.offset / kSector,
            .bytes = static_cast<std::uint32_t>(r.bytes),
            .pid = static_cast<std::uint32_t>(r.thread >> 32),
            .device = device_of(r.place, name)};
    BLKSWEEP_CHECK(put(e, kQueue, category_of(r), out));
    BLKSWEEP_CHECK(put(e, kIssue, category_of(r), out));
    if (r.latency_ns != kNotTold) {
      e.time += static_cast<std::uint64_t>(r.latency_ns);
      waiting_.push({e, category_of(r)});
    }
    return true;
  }
  Result<> end(Output& out) override { return complete_until(INT64_MAX, out); }

 private:
  static constexpr std::uint32_t kQueue = 1, kIssue = 7, kComplete = 8, kExtended = 259U << 20;
  // Categories, in the upper half of the action.
  static constexpr std::uint32_t kRead = 1, kWrite = 2, kFlush = 4, kSync = 8, kQueued = 1 << 4,
                                 kIssued = 1 << 6, kCompleted = 1 << 7, kAhead = 1 << 11,
                                 kMeta = 1 << 12, kDiscard = 1 << 13, kFua = 1 << 15;

  struct Event {
    std::uint32_t magic = kBlktraceMagic, sequence = 0;
    std::uint64_t time = 0, sector = 0;
    std::uint32_t bytes = 0, action = 0, pid = 0, device = 0, cpu = 0;
    std::uint16_t error = 0, pdu_len = 0;
  };
  static_assert(sizeof(Event) == 48);
  struct Completion {
    Event event;
    std::uint32_t category;
    bool operator>(const Completion& o) const { return event.time > o.event.time; }
  };

  static std::uint32_t category_of(const TraceRecord& r) {
    const auto flag = [&r](std::uint16_t f, std::uint32_t c) {
      return (r.flags & f) != 0 ? c : 0U;
    };
    const std::uint32_t op = r.op == TraceOp::read      ? kRead
                             : r.op == TraceOp::discard ? kDiscard | kWrite
                             : r.op == TraceOp::flush   ? kFlush | kWrite
                                                        : kWrite;
    return op | flag(kTraceSync, kSync) | flag(kTraceReadahead, kAhead) |
           flag(kTraceMetadata, kMeta) | flag(kTraceFua, kFua);
  }

  // "8,16" is that device, unless another volume has its number already; others get minors of 259
  // (blkext), in the order they come.
  std::uint32_t device_of(std::uint32_t place, const std::string& name) {
    const auto [at, added] = devices_.try_emplace(place, 0);
    if (added) {
      auto minor = static_cast<std::uint32_t>(devices_.size() - 1);
      at->second = number_of(name).value_or(kExtended | minor);
      while (!taken_.insert(at->second).second) {
        at->second = kExtended | minor++;
      }
    }
    return at->second;
  }

  static std::optional<std::uint32_t> number_of(std::string_view name) {
    const std::size_t comma = name.find(',');
    const auto major = number<std::uint32_t>(name.substr(0, comma));
    const auto minor = comma == std::string_view::npos
                           ? std::nullopt
                           : number<std::uint32_t>(name.substr(comma + 1));
    return major && minor && *major < 4096 && *minor < 1U << 20
               ? std::optional(*major << 20 | *minor)
               : std::nullopt;
  }

  Result<> complete_until(std::int64_t time_ns, Output& out) {
    while (!waiting_.empty() && waiting_.top().event.time <= static_cast<std::uint64_t>(time_ns)) {
      const Completion done = waiting_.top();
      waiting_.pop();
      BLKSWEEP_CHECK(put(done.event, kComplete, done.category, out));
    }
    return {};
  }

  Result<> put(Event e, std::uint32_t what, std::uint32_t category, Output& out) {
    const std::uint32_t of_event = what == kQueue ? kQueued : what == kIssue ? kIssued : kCompleted;
    e.action = what | (category | of_event) << 16;
    e.sequence = ++sequence_;
    return out.put({reinterpret_cast<const char*>(&e), sizeof e});
  }

  std::uint32_t sequence_ = 0;
  std::unordered_map<std::uint32_t, std::uint32_t> devices_;  // by place
  std::unordered_set<std::uint32_t> taken_;                   // of them, so that none is two
  std::priority_queue<Completion, std::vector<Completion>, std::greater<>> waiting_;
};

OutputKind kind_of(ExportFormat format) {
  switch (format) {
    case ExportFormat::iolog:
      return {"iolog of fio", {kIologHead}};
    case ExportFormat::blktrace:
      return {"blktrace",
              {std::string(std::bit_cast<std::array<char, 4>>(kBlktraceMagic).data(), 4)}};
    default:
      return {"CSV of a trace", {csv_header(TraceKind::block), csv_header(TraceKind::file)}};
  }
}

std::unique_ptr<RecordExporter> exporter_of(ExportFormat format, TraceKind kind) {
  switch (format) {
    case ExportFormat::iolog:
      return std::make_unique<ToIolog>();
    case ExportFormat::blktrace:
      return std::make_unique<ToBlktrace>();
    default:
      return std::make_unique<ToCsv>(kind);
  }
}

}  // namespace

Result<ExportFormat> parse_export_format(std::string_view text) {
  if (text == "csv") {
    return ExportFormat::csv;
  }
  if (text == "iolog") {
    return ExportFormat::iolog;
  }
  return text == "blktrace" ? Result<ExportFormat>(ExportFormat::blktrace)
                            : usage_error(fmt::format("{}: csv, iolog or blktrace", text));
}

Result<ExportReport> export_trace(TraceReader& trace, ExportFormat format,
                                  const std::string& output, const std::atomic<bool>& stop) {
  if (format == ExportFormat::blktrace && trace.facts().kind == TraceKind::file) {
    return usage_error("a file trace has no blocks: export it as iolog or csv");
  }
  BLKSWEEP_CHECK(check_output_place(output, kind_of(format)));
  BLKSWEEP_TRY(ReplacedFile file, ReplacedFile::begin(output));
  Output out(std::move(file));
  const auto exporter = exporter_of(format, trace.facts().kind);
  ExportReport report;
  BLKSWEEP_CHECK(exporter->begin(out));
  std::vector<TraceRecord> block;
  for (;;) {
    BLKSWEEP_TRY(const bool some, trace.next(block));
    if (!some) {
      break;
    }
    if (stop.load()) {
      return fail("interrupted: nothing was written", Exit::interrupted);
    }
    for (const TraceRecord& r : block) {
      BLKSWEEP_TRY(const bool written, exporter->add(r, trace.names()[r.place], out));
      ++(written ? report.records : report.left_out);
    }
  }
  BLKSWEEP_CHECK(exporter->end(out));
  BLKSWEEP_CHECK(out.commit());
  return report;
}

}  // namespace blksweep
