// Recorder's text (recorder2text): "tstart tend function level type ( arguments )", a file a rank.
// What a call returned is not told: places of plain reads follow the lengths that were asked for,
// and are marked as inexact. Source: Recorder 2.x and 3.x, tools/recorder2text;
// docs/trace-imports.md.
#include <algorithm>
#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

#include "trace/import/fields.h"
#include "trace/import/format.h"

namespace blksweep {
namespace {

constexpr std::size_t kLeastFields = 7;  // two times, function, level, type and both brackets
constexpr std::string_view kPosix = "0";

class Recorder : public TextParser {
 public:
  void begin_member() override {
    cursors_.clear();
    ++rank_;
  }

  void state(TraceFacts& facts) const override {
    facts.quantum_ns = quantum_ns_ > 0 ? quantum_ns_ : facts.quantum_ns;
  }

  Result<bool> line(std::string_view line, ImportTarget& target) override {
    split_at_blanks(line, f_);
    if (f_.size() < kLeastFields || f_[5] != "(" || f_.back() != ")") {
      return fail("is no call of Recorder");
    }
    const auto begin = decimal_ns(f_[0], kSecond), end = decimal_ns(f_[1], kSecond);
    if (!begin || !end || *end < *begin) {
      return bad_field("time", begin ? f_[1] : f_[0]);
    }
    note_quantum(f_[0]);
    if (f_[4] != kPosix) {
      return false;  // MPI-IO and HDF5 call POSIX in their turn
    }
    const std::span<const std::string_view> all(f_);
    return call(f_[2], all.subspan(6, all.size() - 7), *begin, *end, target);
  }

 private:
  using Arguments = std::span<const std::string_view>;

  // The decimals that it prints are the steps of its clock.
  void note_quantum(std::string_view time) {
    const std::size_t point = time.find('.');
    const std::size_t digits = point == std::string_view::npos ? 0 : time.size() - point - 1;
    std::int64_t ns = kSecond;
    for (std::size_t i = 0; i < digits; ++i) {
      ns /= 10;
    }
    quantum_ns_ = ns;
  }

  Result<bool> call(std::string_view name, Arguments a, std::int64_t begin, std::int64_t end,
                    ImportTarget& target) {
    if (name.starts_with("open") || name.starts_with("fopen")) {
      cursors_[a.empty() ? "" : std::string(a[0])] = 0;
      return false;
    }
    if (name.starts_with("lseek") || name.starts_with("fseek")) {
      return seek(a);
    }
    const std::optional<bool> reads = is_read_call(name);
    if (!reads) {
      return false;
    }
    TraceRecord r{.time_ns = begin};
    r.op = *reads ? TraceOp::read : TraceOp::write;
    r.latency_ns = end - begin;
    r.thread = rank_ << 32;
    return access(name, a, r, target);
  }

  // read(file, ptr, count); pread(file, ptr, count, offset); readv(file, total, parts);
  // fread(ptr, size, members, file).
  Result<bool> access(std::string_view name, Arguments a, TraceRecord r, ImportTarget& target) {
    const bool stdio = name.starts_with('f') && !name.starts_with("fsync");
    const bool vector = name.find('v') != std::string_view::npos;
    const bool placed = name.starts_with('p');
    if (a.size() < (stdio || (placed && !vector) ? 4U : 3U)) {
      return fail("a call with too few arguments");
    }
    const std::string file(stdio ? a[3] : a[0]);
    const auto count = stdio ? product(a[1], a[2]) : scaled(vector ? a[1] : a[2], 1);
    const auto offset = placed ? scaled(a.back(), 1) : std::optional(cursors_[file]);
    if (!count || !offset) {
      return fail("a length or an offset is no number");
    }
    r.offset = *offset;
    r.bytes = *count;
    r.form = stdio || r.op != TraceOp::read ? CallForm::unknown
             : placed                       ? (vector ? CallForm::preadv : CallForm::pread)
             : vector                       ? CallForm::readv
                                            : CallForm::read;
    if (!placed) {
      r.flags = kTraceInexact;
      cursors_[file] += std::min(*count, static_cast<std::uint64_t>(INT64_MAX) - *offset);
    }
    BLKSWEEP_TRY(r.place, target.place(file));
    BLKSWEEP_CHECK(target.add(r));
    return true;
  }

  // lseek(file, offset, whence): from the end nothing is known of where that is.
  Result<bool> seek(Arguments a) {
    const auto by = a.size() >= 3 ? number<std::int64_t>(a[1]) : std::nullopt;
    if (!by) {
      return fail("a seek without its offset");
    }
    std::uint64_t& cursor = cursors_[std::string(a[0])];
    const bool from_start = a[2] == "0" || a[2] == "SEEK_SET";
    const bool from_here = a[2] == "1" || a[2] == "SEEK_CUR";
    const std::int64_t base = from_here ? static_cast<std::int64_t>(cursor) : 0;
    std::int64_t to = 0;
    if ((from_start || from_here) && !__builtin_add_overflow(base, *by, &to) && to >= 0) {
      cursor = static_cast<std::uint64_t>(to);
    }
    return false;
  }

  static std::optional<std::uint64_t> product(std::string_view size, std::string_view members) {
    const auto n = number<std::uint64_t>(members);
    return n ? scaled(size, *n) : std::nullopt;
  }

  std::vector<std::string_view> f_;
  std::unordered_map<std::string, std::uint64_t> cursors_;  // by file
  std::uint64_t rank_ = 0;
  std::int64_t quantum_ns_ = 0;
};

}  // namespace

std::unique_ptr<TextParser> recorder_parser(const FormatOptions&) {
  return std::make_unique<Recorder>();
}

}  // namespace blksweep
