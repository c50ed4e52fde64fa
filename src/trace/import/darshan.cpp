// Darshan's DXT as darshan-dxt-parser prints it: for each file and rank a heading, then its writes,
// then its reads. Rows of MPI-IO are left out: the POSIX rows below them are the same bytes.
// Source: darshan-util documentation, "darshan-dxt-parser"; docs/trace-imports.md.
#include <string>
#include <vector>

#include "trace/import/fields.h"
#include "trace/import/format.h"

namespace blksweep {
namespace {

enum Row : std::size_t {
  kDxtModule,
  kDxtRank,
  kDxtAction,
  kDxtSegment,
  kDxtOffset,
  kDxtLength,
  kDxtStart,
  kDxtEnd,
  kDxtFields
};

class Darshan : public TextParser {
 public:
  void begin_member() override { file_.clear(); }

  void state(TraceFacts& facts) const override {
    facts.incomplete = facts.incomplete || incomplete_;
    if (start_s_) {
      facts.start_unix_ns = *start_s_ * kSecond;
    }
    if (left_out_ > 0) {
      facts.notes.push_back(std::to_string(left_out_) +
                            " rows of MPI-IO are left out: their POSIX rows are there");
    }
  }

  Result<bool> line(std::string_view line, ImportTarget& target) override {
    if (line.starts_with('#')) {
      return heading(line);
    }
    split_at_blanks(line, f_);
    const std::string_view module = f_.empty() ? std::string_view() : f_[kDxtModule];
    if (module == "X_MPIIO" && !file_.empty()) {
      ++left_out_;
      return false;
    }
    if (module != "X_POSIX" || f_.size() < kDxtFields) {
      return fail("is no row of DXT");
    }
    return row(target);
  }

 private:
  // "# DXT, file_id: 7, file_name: /a", "# start_time: 1700000000", "# *WARNING*: ... incomplete".
  Result<bool> heading(std::string_view line) {
    constexpr std::string_view kName = "file_name: ", kStartTime = "# start_time: ";
    known_ = known_ || line.starts_with("# darshan") || line.starts_with("# DXT");
    if (!known_) {
      return fail("is not how Darshan's text begins");
    }
    incomplete_ = incomplete_ || line.find("incomplete") != std::string_view::npos;
    if (const std::size_t at = line.find(kName); at != std::string_view::npos) {
      file_ = line.substr(at + kName.size());
    }
    if (line.starts_with(kStartTime)) {
      start_s_ = number<std::int32_t>(line.substr(kStartTime.size()));
    }
    return false;
  }

  Result<bool> row(ImportTarget& target) {
    const auto rank = number<std::int32_t>(f_[kDxtRank]);
    const auto reads = is_read(f_[kDxtAction]);
    const auto offset = scaled(f_[kDxtOffset], 1), bytes = scaled(f_[kDxtLength], 1);
    const auto start = decimal_ns(f_[kDxtStart], kSecond), end = decimal_ns(f_[kDxtEnd], kSecond);
    if (file_.empty()) {
      return fail("is a row before the name of its file");
    }
    if (!rank || !reads || !offset || !bytes || !start || !end || *end < *start || *rank < -1) {
      return fail("a field is not what DXT has there");
    }
    TraceRecord r{.time_ns = *start, .offset = *offset, .bytes = *bytes};
    r.op = *reads ? TraceOp::read : TraceOp::write;
    r.latency_ns = *end - *start;
    // The last field where there is one: [OST] lists stand before it.
    const auto thread =
        f_.size() > kDxtFields ? number<std::uint64_t>(f_.back()).value_or(0) : std::uint64_t{0};
    r.thread = static_cast<std::uint64_t>(*rank + 2) << 32 | (thread & 0xFFFF'FFFF);
    BLKSWEEP_TRY(r.place, target.place(file_));
    BLKSWEEP_CHECK(target.add(r));
    return true;
  }

  std::vector<std::string_view> f_;
  std::string file_;
  std::optional<std::int64_t> start_s_;
  std::uint64_t left_out_ = 0;
  bool known_ = false, incomplete_ = false;
};

}  // namespace

std::unique_ptr<TextParser> darshan_parser(const FormatOptions&) {
  return std::make_unique<Darshan>();
}

}  // namespace blksweep
