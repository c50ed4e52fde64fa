// fio's iologs, versions 2 and 3. Names end at the first blank, as fio reads them.
// Source: fio's HOWTO, "Trace file format v2" and "v3"; fio issue 247 (units of `wait`).
#include <fmt/format.h>

#include <string>
#include <vector>

#include "trace/import/fields.h"
#include "trace/import/format.h"

namespace blksweep {
namespace {

std::optional<TraceOp> operation_of_action(std::string_view action) {
  if (action == "read") {
    return TraceOp::read;
  }
  if (action == "write") {
    return TraceOp::write;
  }
  if (action == "trim") {
    return TraceOp::discard;
  }
  return action == "sync" || action == "datasync" ? std::optional(TraceOp::flush) : std::nullopt;
}

bool has_range(TraceOp op) {
  return op == TraceOp::read || op == TraceOp::write || op == TraceOp::discard;
}

class Iolog : public TextParser {
 public:
  explicit Iolog(std::optional<std::int64_t> wait_unit) : wait_unit_(wait_unit) {}

  void begin_member() override {
    version_ = 0;
    now_ns_ = 0;
  }

  // The same format for files and devices: their names tell.
  void state(TraceFacts& facts) const override {
    facts.kind = devices_ ? facts.kind : TraceKind::file;
    facts.synthetic_times = facts.synthetic_times || (second_ && !waited_);
  }

  Result<bool> line(std::string_view line, ImportTarget& target) override {
    if (version_ == 0) {
      version_ = line == "fio version 2 iolog" ? 2 : line == "fio version 3 iolog" ? 3 : 0;
      return version_ != 0 ? Result<bool>(false) : fail("is not the first line of an iolog");
    }
    split_at_blanks(line, f_);
    if (version_ == 3) {
      const auto time = f_.empty() ? std::nullopt : scaled(f_[0], kMicro);
      if (!time) {
        return bad_field("time", f_.empty() ? "" : f_[0]);
      }
      now_ns_ = static_cast<std::int64_t>(*time);
      f_.erase(f_.begin());
    }
    return action(target);
  }

 private:
  Result<bool> action(ImportTarget& target) {
    if (f_.size() < 2) {
      return fail("a name and an action are missing");
    }
    if (f_[1] == "add" || f_[1] == "open" || f_[1] == "close") {
      return false;  // fio's own book-keeping, not accesses
    }
    if (f_[1] == "wait" && version_ == 2) {
      return wait();
    }
    const auto op = operation_of_action(f_[1]);
    if (!op) {
      return bad_field("action", f_[1]);
    }
    TraceRecord r{.time_ns = now_ns_};
    r.op = *op;
    if (has_range(*op)) {
      const auto offset = f_.size() == 4 ? scaled(f_[2], 1) : std::nullopt;
      const auto bytes = f_.size() == 4 ? scaled(f_[3], 1) : std::nullopt;
      if (!offset || !bytes) {
        return fail("an offset and a length are missing");
      }
      r.offset = *offset;
      r.bytes = *bytes;
    }
    devices_ = devices_ && f_[0].starts_with("/dev/");
    second_ = second_ || version_ == 2;
    BLKSWEEP_TRY(r.place, target.place(f_[0]));
    BLKSWEEP_CHECK(target.add(r));
    return true;
  }

  // Documented: microseconds from here; what fio does: milliseconds from the beginning.
  Result<bool> wait() {
    if (!wait_unit_) {
      return fail(
          "a wait, whose unit fio's manual and fio's code see differently: give "
          "--time-unit us (from the line before) or ms (from the beginning)");
    }
    const auto waited =
        f_.size() >= 3 ? scaled(f_[2], static_cast<std::uint64_t>(*wait_unit_)) : std::nullopt;
    if (!waited || *waited > static_cast<std::uint64_t>(INT64_MAX - now_ns_)) {
      return bad_field("time to wait", f_.size() >= 3 ? f_[2] : "");
    }
    waited_ = true;
    now_ns_ = static_cast<std::int64_t>(*waited) + (*wait_unit_ == kMilli ? 0 : now_ns_);
    return false;
  }

  std::optional<std::int64_t> wait_unit_;
  bool devices_ = true;
  bool second_ = false, waited_ = false;  // version 2 has no times but those of its waits
  int version_ = 0;
  std::int64_t now_ns_ = 0;
  std::vector<std::string_view> f_;
};

}  // namespace

std::unique_ptr<TextParser> iolog_parser(const FormatOptions& o) {
  return std::make_unique<Iolog>(o.time_unit_ns);
}

}  // namespace blksweep
