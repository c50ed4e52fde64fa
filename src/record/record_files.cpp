#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <unordered_map>

#include "base/clock.h"
#include "base/text.h"
#include "os/file/file.h"
#include "probe/record_events.h"
#include "record/facts.h"
#include "record/record.h"
#include "record/trace_output.h"

namespace blksweep {
namespace {

// What programs read of the system itself.
constexpr std::array<std::string_view, 12> kSystem{"/proc/", "/sys/",   "/dev/",   "/usr/",
                                                   "/lib/",  "/lib32/", "/lib64/", "/bin/",
                                                   "/sbin/", "/etc/",   "/run/",   "/boot/"};

// Which files are recorded, and under which names.
class Wanted {
 public:
  // `data`: a real path; empty: all but the system's.
  explicit Wanted(std::string data) : data_(std::move(data)) {}

  // nullopt: not wanted.
  std::optional<std::string> name_of(const std::string& path) const {
    if (data_.empty()) {
      const bool system = std::ranges::any_of(
          kSystem, [&](std::string_view folder) { return path.starts_with(folder); });
      return system || path.size() < 2 ? std::nullopt : std::optional(path.substr(1));
    }
    const std::string below = data_ == "/" ? data_ : data_ + "/";
    return path.starts_with(below) ? std::optional(path.substr(below.size())) : std::nullopt;
  }

 private:
  std::string data_;
};

class Reads {
 public:
  Reads(TraceOutput& output, const Wanted& wanted) : output_(output), wanted_(wanted) {}

  void path(std::uint64_t file, const std::string& path) {
    const auto name = wanted_.name_of(path);
    const Result<std::uint32_t> place =
        name ? output_.place(*name) : Result<std::uint32_t>(kNotWanted);
    failed_ = failed_ && !place ? Result<>(tl::unexpected(place.error())) : failed_;
    places_[file] = place.value_or(kNotWanted);
  }

  void read(const FileRead& e) {
    const auto place = places_.find(e.file);
    if (place == places_.end()) {
      ++nameless_;
      return;
    }
    if (place->second == kNotWanted) {
      ++left_out_;
      return;
    }
    // Nothing gives more than was asked for: then what was asked is not known in full.
    const auto asked = std::max(e.returned, static_cast<std::int64_t>(e.bytes));
    TraceRecord r{
        .time_ns = e.at_ns, .offset = e.offset, .bytes = static_cast<std::uint64_t>(asked)};
    r.returned = e.returned;
    r.latency_ns = e.latency_ns < 0 ? kNotTold : e.latency_ns;
    r.thread = e.thread;
    r.place = place->second;
    r.form = form_of_event(e.form);
    r.flags = e.flags;
    output_.add(r);
  }

  std::uint64_t left_out() const { return left_out_; }
  std::uint64_t nameless() const { return nameless_; }
  const Result<>& failed() const { return failed_; }

 private:
  static constexpr std::uint32_t kNotWanted = 0xFFFFFFFF;
  static CallForm form_of_event(FileRead::Form form) {
    static_assert(static_cast<int>(FileRead::Form::fault) == static_cast<int>(CallForm::fault) &&
                  static_cast<int>(FileRead::Form::read) == static_cast<int>(CallForm::read));
    return static_cast<CallForm>(form);
  }

  TraceOutput& output_;
  const Wanted& wanted_;
  std::unordered_map<std::uint64_t, std::uint32_t> places_;  // by the recorder's number
  std::uint64_t left_out_ = 0, nameless_ = 0;
  Result<> failed_;
};

Result<std::string> real_folder(const std::string& data) {
  if (data.empty()) {
    return data;
  }
  std::error_code error;
  const auto real = std::filesystem::canonical(data, error);
  if (error || !std::filesystem::is_directory(real, error)) {
    return usage_error(
        fmt::format("--data {}: {}", data, error ? error.message() : "it is no folder"));
  }
  return real.string();
}

}  // namespace

Result<RecordReport> record_files(const FileRecording& s, const HeldSignals& signals) {
  BLKSWEEP_TRY(const std::string data, real_folder(s.data));
  TraceFacts facts = recorded_facts(TraceKind::file, joined(s.command, " "));
  Reads* reads = nullptr;
  BLKSWEEP_TRY(
      const auto recorder,
      open_file_recorder(s.ring, {[&](auto file, const auto& path) { reads->path(file, path); },
                                  [&](const FileRead& e) { reads->read(e); }}));
  facts.notes.push_back(data.empty() ? "names are below /" : "names are below " + data);
  if (!recorder->without().empty()) {
    facts.notes.push_back(recorder->without());
  }
  BLKSWEEP_TRY(TraceOutput output, TraceOutput::begin(s.output, facts));
  const Wanted wanted(data);
  Reads taken(output, wanted);
  reads = &taken;
  BLKSWEEP_CHECK(recorder->start());
  Result<> drained;
  const auto drain = [&] {
    drained = drained ? recorder->drain() : drained;
    drained = drained ? output.advance(now_ns()) : drained;
  };
  const Result<int> status = run_in_foreground({.argv = s.command,
                                                .prepare =
                                                    [&] {
                                                      recorder->join();
                                                      return Result<>();
                                                    },
                                                .tick = drain},
                                               signals);
  drain();
  recorder->stop();
  drain();
  if (!status) {  // nothing ran
    output.discard();
    return tl::unexpected(status.error());
  }
  BLKSWEEP_CHECK(drained);
  BLKSWEEP_CHECK(taken.failed());
  facts.lost = recorder->lost() + taken.nameless();
  facts.faults_unseen = recorder->faults_unseen();
  facts.calls_unseen = recorder->calls_unseen();
  BLKSWEEP_CHECK(output.finish(facts));
  return RecordReport{.facts = facts,
                      .records = output.records(),
                      .places = output.places(),
                      .left_out = taken.left_out(),
                      .status = *status};
}

}  // namespace blksweep
