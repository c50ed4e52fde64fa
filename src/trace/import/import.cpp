#include "trace/import/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <unordered_map>

#include "base/text.h"
#include "os/file/file.h"
#include "trace/import/outstanding.h"
#include "trace/trace_file.h"
#include "trace/trace_sort.h"

namespace blksweep {
namespace {

constexpr std::uint64_t kLookForStop = 4096;                  // records
constexpr std::size_t kMostOfOneTime = std::size_t{4} << 20;  // spread over a step

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

// What the parsers give, sorted, with the names that they used.
class Collected : public ImportTarget {
 public:
  Collected(const std::string& folder, const std::atomic<bool>& stop)
      : sort_(folder), stop_(stop) {}

  Result<std::uint32_t> place(std::string_view name) override {
    name_.assign(name);
    const auto [at, added] = places_.try_emplace(name_, static_cast<std::uint32_t>(names_.size()));
    if (added) {
      names_.push_back(name_);
    }
    return at->second;
  }

  Result<> add(const TraceRecord& r) override {
    reordered_ += r.time_ns < greatest_ns_ ? 1U : 0U;
    greatest_ns_ = std::max(greatest_ns_, r.time_ns);
    const bool request = (r.flags & (kCompletion | kRequeue)) == 0;
    completions_ = completions_ || !request;
    first_ns_ = request ? std::min(first_ns_, r.time_ns) : first_ns_;
    if (++added_ % kLookForStop == 0 && stop_.load()) {
      return fail("interrupted: nothing was written", Exit::interrupted);
    }
    return sort_.add(r);
  }

  void begin_member() { greatest_ns_ = 0; }
  std::uint64_t reordered() const { return reordered_; }
  std::int64_t first_ns() const { return first_ns_; }  // of a request; INT64_MAX: none
  const std::vector<std::string>& names() const { return names_; }

  // In order, each with the latency that its completion tells.
  Result<> drain(const std::function<Result<>(const TraceRecord&)>& take) {
    if (!completions_) {
      return sort_.drain(take);
    }
    Outstanding outstanding(take);
    BLKSWEEP_CHECK(sort_.drain([&outstanding](const TraceRecord& r) {
      return (r.flags & kCompletion) != 0 ? outstanding.complete(r)
             : (r.flags & kRequeue) != 0  ? outstanding.requeue(r)
                                          : outstanding.issue(r);
    }));
    return outstanding.give_all();
  }

 private:
  TraceSort sort_;
  const std::atomic<bool>& stop_;
  std::unordered_map<std::string, std::uint32_t> places_;
  std::vector<std::string> names_;
  std::string name_;
  std::uint64_t reordered_ = 0, added_ = 0;
  std::int64_t greatest_ns_ = 0, first_ns_ = INT64_MAX;
  bool completions_ = false;
};

class Importer {
 public:
  Importer(const ImportSettings& settings, const std::atomic<bool>& stop)
      : s_(settings), collected_(folder_of(settings.output), stop) {}

  Result<ImportReport> run() {
    for (const std::string& path : s_.inputs) {
      BLKSWEEP_TRY(TraceInput input, TraceInput::open(path));
      for (;;) {
        BLKSWEEP_TRY(const bool some, input.next_member());
        if (!some) {
          break;
        }
        BLKSWEEP_CHECK(read_member(input));
      }
    }
    if (collected_.first_ns() == INT64_MAX) {
      return fail(fmt::format("{}: holds no access", printable(s_.inputs.front())));
    }
    BLKSWEEP_CHECK(write());
    return std::move(report_);
  }

 private:
  Result<> read_member(TraceInput& input) {
    if (format_ == nullptr) {
      BLKSWEEP_CHECK(choose_format(input));
    }
    ++report_.members;
    collected_.begin_member();
    return text_ ? read_lines(input) : read_records(input);
  }

  Result<> choose_format(TraceInput& input) {
    if (s_.format.empty()) {
      BLKSWEEP_TRY(format_, recognise_format(input, s_));
    } else {
      format_ = find_format(s_.format);
    }
    if (format_->needs_unit && !s_.options.time_unit_ns) {
      return usage_error(
          fmt::format("{}: {} does not say in what unit its times are: give "
                      "--time-unit ns, us, ms or s",
                      printable(input.name()), format_->name));
    }
    report_.facts.kind = format_->kind;
    report_.facts.format = format_->name;
    report_.facts.quantum_ns = format_->needs_unit ? *s_.options.time_unit_ns : format_->quantum_ns;
    text_ = format_->text != nullptr ? format_->text(s_.options) : nullptr;
    return {};
  }

  Result<> read_lines(TraceInput& input) {
    text_->begin_member();
    std::string_view line;
    for (;;) {
      BLKSWEEP_TRY(const bool some, input.line(line));
      if (!some) {
        return {};
      }
      if (line.empty()) {
        continue;
      }
      if (const Result<bool> taken = text_->line(line, collected_); !taken) {
        BLKSWEEP_CHECK(
            bad(fmt::format("{}:{}", printable(input.name()), input.lines()), taken.error()));
      }
    }
  }

  Result<> read_records(TraceInput& input) {
    const auto parser = format_->binary(s_.options);
    for (std::uint64_t n = 0;; ++n) {
      const Result<bool> some = parser->record(input, collected_);
      if (!some) {
        return fail(fmt::format("{}: record {}: {}", printable(input.name()), n, some.error().text),
                    some.error().exit_code);
      }
      if (!*some) {
        return {};
      }
    }
  }

  Result<> bad(const std::string& where, const Error& why) {
    if (why.exit_code != Exit::failed || ++report_.facts.skipped > s_.skip_bad) {
      return fail(fmt::format("{}: {}", where, why.text), why.exit_code);
    }
    return {};
  }

  void state_facts() {
    TraceFacts& f = report_.facts;
    if (text_) {
      text_->state(f);
    }
    f.origin = std::filesystem::path(s_.inputs.front()).filename().string();
    if (format_->unix_time || f.start_unix_ns) {  // of the source's zero, which is 1970 or told
      f.start_unix_ns = f.start_unix_ns.value_or(0) + collected_.first_ns();
    }
    f.reordered = collected_.reordered();
    f.synthetic_times = f.synthetic_times || s_.spread;
  }

  Result<> write() {
    state_facts();
    BLKSWEEP_TRY(ReplacedFile out, ReplacedFile::begin(s_.output));
    BLKSWEEP_TRY(
        TraceWriter writer,
        TraceWriter::begin([&out](auto bytes) { return out.write(bytes); }, report_.facts));
    BLKSWEEP_CHECK(collected_.drain([&](const TraceRecord& r) { return write(r, writer); }));
    BLKSWEEP_CHECK(spread_out(writer));
    BLKSWEEP_CHECK(writer.finish(report_.facts));
    report_.records = writer.records();
    report_.places = collected_.names().size();
    return out.commit();
  }

  Result<> write(TraceRecord r, TraceWriter& writer) {
    r.time_ns -= collected_.first_ns();
    if (places_.size() <= r.place) {
      places_.resize(collected_.names().size(), UINT32_MAX);
    }
    if (places_[r.place] == UINT32_MAX) {
      const std::string& name = collected_.names()[r.place];
      BLKSWEEP_TRY(const std::string last,
                   text_ ? text_->final_name(name) : Result<std::string>(name));
      BLKSWEEP_TRY(places_[r.place], writer.place(last));
    }
    r.place = places_[r.place];
    if (!s_.spread) {
      return writer.add(r);
    }
    if (!same_time_.empty() && same_time_.front().time_ns != r.time_ns) {
      BLKSWEEP_CHECK(spread_out(writer));
    }
    if (same_time_.size() == kMostOfOneTime) {
      return fail(
          fmt::format("more than {} accesses of one time: cannot spread them", kMostOfOneTime));
    }
    same_time_.push_back(r);
    return {};
  }

  // Evenly over the step of the clock, in the source's order.
  Result<> spread_out(TraceWriter& writer) {
    const auto n = static_cast<double>(same_time_.size());
    for (std::size_t i = 0; i < same_time_.size(); ++i) {
      const double share = static_cast<double>(i) / n;
      same_time_[i].time_ns +=
          static_cast<std::int64_t>(share * static_cast<double>(report_.facts.quantum_ns));
      BLKSWEEP_CHECK(writer.add(same_time_[i]));
    }
    same_time_.clear();
    return {};
  }

  const ImportSettings& s_;
  Collected collected_;
  const TraceFormat* format_ = nullptr;
  std::unique_ptr<TextParser> text_;
  ImportReport report_;
  std::vector<std::uint32_t> places_;  // of the file, by the collected ones
  std::vector<TraceRecord> same_time_;
};

}  // namespace

Result<ImportReport> import_trace(const ImportSettings& settings, const std::atomic<bool>& stop) {
  if (!settings.format.empty() && find_format(settings.format) == nullptr) {
    return usage_error(fmt::format("--format {}: is not known", printable(settings.format)));
  }
  return Importer(settings, stop).run();
}

}  // namespace blksweep
