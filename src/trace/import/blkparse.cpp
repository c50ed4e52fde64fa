// blkparse's default text: "maj,min cpu seq time pid action rwbs sector + sectors [process]".
// Source: blkparse(1), "OUTPUT DESCRIPTION AND FORMATTING".
#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/units.h"
#include "trace/import/fields.h"
#include "trace/import/format.h"

namespace blksweep {
namespace {

enum Column : std::size_t {
  kDevice,
  kCpu,
  kSequence,
  kTime,
  kPid,
  kAction,
  kRwbs,
  kSectorAt,
  kPlus,
  kCount
};

struct Operation {
  TraceOp op = TraceOp::other;
  std::uint16_t flags = 0;
};

// "RA", "WFS", "FWSM": an F before the letter of the operation flushes first, one behind it is FUA.
std::optional<Operation> operation_of_rwbs(std::string_view rwbs) {
  Operation out;
  const std::size_t at =
      rwbs.size() > 1 && rwbs[0] == 'F' && rwbs[1] != 'F' && rwbs[1] != 'S' ? 1 : 0;
  switch (rwbs.empty() ? '?' : rwbs[at]) {
    case 'R':
      out.op = TraceOp::read;
      break;
    case 'W':
      out.op = TraceOp::write;
      break;
    case 'D':
      out.op = TraceOp::discard;
      break;
    case 'F':
      out.op = TraceOp::flush;
      break;
    case 'N':
      break;
    default:
      return std::nullopt;
  }
  for (const char c : rwbs.substr(at + 1)) {
    const std::uint16_t flag = c == 'S'   ? kTraceSync
                               : c == 'A' ? kTraceReadahead
                               : c == 'M' ? kTraceMetadata
                               : c == 'F' ? kTraceFua
                                          : 0;
    out.flags = static_cast<std::uint16_t>(out.flags | flag);
  }
  return out;
}

bool is_device(std::string_view text) {
  const std::size_t comma = text.find(',');
  return comma != std::string_view::npos && number<std::uint32_t>(text.substr(0, comma)) &&
         number<std::uint32_t>(text.substr(comma + 1));
}

class Blkparse : public TextParser {
 public:
  explicit Blkparse(char action) : action_(action) {}

  void state(TraceFacts& facts) const override {
    if (commands_ > 0) {
      facts.notes.push_back(
          fmt::format("{} requests without an address are left out", format_count(commands_)));
    }
  }

  Result<bool> line(std::string_view line, ImportTarget& target) override {
    split_at_blanks(line, f_);
    // Summaries and messages are no events; an event that blkparse wrote in part is a bad line.
    if (f_.empty() || !is_device(f_[kDevice])) {
      return seen_ ? Result<bool>(false) : fail("is no event of blkparse");
    }
    if (f_.size() <= kRwbs) {
      return fail("is an event without its action");
    }
    const bool taken = f_[kAction] == std::string_view(&action_, 1);
    seen_ = true;
    const bool again = f_[kAction] == "R" && action_ == 'D';
    if (!taken && !again && f_[kAction] != "C") {
      return false;
    }
    return event(taken ? Event::request : again ? Event::requeue : Event::completion, target);
  }

 private:
  enum class Event { request, requeue, completion };

  Result<bool> event(Event what, ImportTarget& target) {
    const auto time = decimal_ns(f_[kTime], kSecond);
    auto operation = operation_of_rwbs(f_[kRwbs]);
    if (!time) {
      return bad_field("time", f_[kTime]);
    }
    if (!operation) {
      return bad_field("operation", f_[kRwbs]);
    }
    const bool sized = f_.size() > kCount && f_[kPlus] == "+";
    // "D FN [kworker]", and "C FN 0 [0]": what flushes and has no size writes nothing.
    const bool flush = !sized && f_[kRwbs].starts_with('F');
    // "D N 36 (12 00 ...", a command: 36 bytes, and no sector.
    if (!flush && (!sized || !number<std::uint64_t>(f_[kSectorAt]))) {
      commands_ += what == Event::request ? 1U : 0U;
      return false;
    }
    operation->op = flush ? TraceOp::flush : operation->op;
    TraceRecord r{.time_ns = *time};
    const auto offset = flush ? std::optional<std::uint64_t>(0) : scaled(f_[kSectorAt], kSector);
    const auto bytes = sized ? scaled(f_[kCount], kSector) : std::optional<std::uint64_t>(0);
    const auto pid = number<std::uint32_t>(f_[kPid]);
    if (!offset || !bytes || !pid) {
      return fail("an address, a size or a process is no number");
    }
    BLKSWEEP_TRY(r.place, target.place(f_[kDevice]));
    r.offset = *offset;
    r.bytes = *bytes;
    r.op = operation->op;
    r.flags = what == Event::request   ? operation->flags
              : what == Event::requeue ? kRequeue
                                       : kCompletion;
    r.thread = std::uint64_t{*pid} << 32 | *pid;
    BLKSWEEP_CHECK(target.add(r));
    return what == Event::request;
  }

  char action_;
  bool seen_ = false;
  std::uint64_t commands_ = 0;  // that are no access ("N (1a ...)")
  std::vector<std::string_view> f_;
};

}  // namespace

std::unique_ptr<TextParser> blkparse_parser(const FormatOptions& o) {
  return std::make_unique<Blkparse>(o.action);
}

}  // namespace blksweep
