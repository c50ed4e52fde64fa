#include "cli/probe/displays.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <deque>

#include "base/clock.h"
#include "base/json.h"
#include "base/marked_word.h"
#include "base/units.h"
#include "cli/answer.h"
#include "cli/probe/counts.h"
#include "cli/probe/live_screen.h"
#include "cli/terminal.h"
#include "os/process/signals.h"

namespace blksweep {
namespace {

constexpr std::size_t kPast = 200;  // more lines than a screen has

std::string text_of(const FileTraffic* traffic) {
  return traffic == nullptr ? "" : "\n" + traffic_text(*traffic);
}

Json json_of(const FileTraffic* traffic) {
  return traffic == nullptr ? Json(nullptr) : traffic_json(*traffic);
}

double seconds_of(std::int64_t ns) { return static_cast<double>(ns) / 1e9; }

std::string line_of(const SeenInterval& i) {
  return interval_line(seconds_of(i.to_ns - i.begin_ns), seconds_of(i.to_ns - i.from_ns), i.counts);
}

class Lines : public Display {
 public:
  explicit Lines(const BlockDevice& device) : device_(device) {
    say_text(interval_heading() + "\n");
  }
  void show(const SeenInterval& interval) override {
    say_text(line_of(interval) + "\n");
    flush_answer();
  }
  void finish(const ProbeReport& report, std::int64_t length_ns,
              const FileTraffic* traffic) override {
    say_text("\n" + summary_text(device_.disk, report, length_ns) + text_of(traffic));
  }

 private:
  const BlockDevice& device_;
};

Json timed_counts(const SeenInterval& interval) {
  Json j = counts_json(interval.counts);
  j["begin_ns"] = interval.from_ns;
  j["end_ns"] = interval.to_ns;
  return j;
}

class Document : public Display {
 public:
  explicit Document(const BlockDevice& device) : device_(device) {}
  void show(const SeenInterval& interval) override { intervals_.push_back(timed_counts(interval)); }
  void finish(const ProbeReport& report, std::int64_t length_ns,
              const FileTraffic* traffic) override {
    Json document = {{"device", device_.disk},
                     {"intervals", std::move(intervals_)},
                     {"summary", summary_json(report, length_ns)}};
    document["attribution"] = json_of(traffic);
    say_text(json_line(document) + "\n");
  }

 private:
  const BlockDevice& device_;
  Json intervals_ = Json::array();
};

std::optional<double> tick_mean(std::uint64_t sum, std::uint64_t ticks) {
  return ticks == 0 ? std::nullopt
                    : std::optional(static_cast<double>(sum) / static_cast<double>(ticks));
}

class JsonLines : public Display {
 public:
  explicit JsonLines(const BlockDevice& device) : device_(device) {}
  void show(const SeenInterval& interval) override {
    const ProbeReport& r = interval.counts;
    Json j = timed_counts(interval);
    j["driver_depth"] = or_null(tick_mean(r.driver_sum, r.ticks));
    j["scheduler_depth"] = or_null(tick_mean(r.scheduler_sum, r.ticks));
    add_details(j, r);
    const auto& stat = interval.stat;
    j["stat_reads"] = stat ? Json(stat->reads) : Json(nullptr);
    j["stat_read_bytes"] = stat ? Json(stat->read_sectors * kSectorBytes) : Json(nullptr);
    j["stat_read_merges"] = stat ? Json(stat->read_merges) : Json(nullptr);
    j["programs_ns"] = or_null(r.programs_ns);
    j["view_ns"] = interval.view_ns;
    j["attribution"] = json_of(interval.traffic ? &*interval.traffic : nullptr);
    say_line({{"device", device_.disk}, {"interval", std::move(j)}});
  }
  void finish(const ProbeReport& report, std::int64_t length_ns,
              const FileTraffic* traffic) override {
    say_line({{"device", device_.disk},
              {"summary", summary_json(report, length_ns)},
              {"attribution", json_of(traffic)}});
  }

 private:
  static void say_line(const Json& line) {
    say_text(json_line(line) + "\n");
    flush_answer();
  }
  const BlockDevice& device_;
};

// The scheduler that is in use stands in brackets.
std::string queue_text(const std::string& disk) {
  std::string scheduler, requests;
  for (const auto& [name, value] : queue_settings(disk)) {
    scheduler = name == "scheduler" ? value : scheduler;
    requests = name == "nr_requests" ? value : requests;
  }
  const std::string marked = marked_word(scheduler);
  return fmt::format("{}   scheduler {}   nr_requests {}", disk,
                     marked.empty() ? scheduler : marked, requests);
}

class Screen : public Display {
 public:
  Screen(const BlockDevice& device, std::unique_ptr<Terminal> terminal)
      : device_(device), terminal_(std::move(terminal)) {
    frame_.heading = queue_text(device.disk);
    terminal_->draw({{frame_.heading, true}});
  }
  void show(const SeenInterval& interval) override {
    frame_.at_s = seconds_of(interval.to_ns - interval.begin_ns);
    frame_.length_s = seconds_of(interval.to_ns - interval.from_ns);
    frame_.interval = interval.counts;
    frame_.total = interval.total;
    frame_.stat = interval.stat;
    frame_.view_ns = interval.view_ns;
    frame_.traffic = interval.traffic;
    frame_.past.push_front(line_of(interval));
    frame_.past.resize(std::min(frame_.past.size(), kPast));
    draw();
  }
  void draw() override { terminal_->draw(live_screen(frame_, terminal_->size())); }
  void wait_until(std::int64_t when_ns) override { terminal_->wait_until(when_ns); }
  bool ended() const override { return broken_off() || !terminal_ || terminal_->lost(); }
  bool broken_off() const override {
    return stop_requested() || end_wanted_ || (terminal_ && terminal_->end_wanted());
  }
  void finish(const ProbeReport& report, std::int64_t length_ns,
              const FileTraffic* traffic) override {
    end_wanted_ = terminal_->end_wanted();
    terminal_.reset();
    say_text(summary_text(device_.disk, report, length_ns) + text_of(traffic));
  }

 private:
  const BlockDevice& device_;
  std::unique_ptr<Terminal> terminal_;
  LiveFrame frame_;
  bool end_wanted_ = false;
};

}  // namespace

// In slices, so that a signal just before the sleep does not cost a whole interval.
void Display::wait_until(std::int64_t when_ns) {
  constexpr std::int64_t kSlice = 100'000'000;
  while (!stop_requested() && now_ns() < when_ns) {
    const std::int64_t slice = std::min(when_ns, now_ns() + kSlice);
    const timespec at{.tv_sec = slice / 1'000'000'000, .tv_nsec = slice % 1'000'000'000};
    ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr);
  }
}

bool Display::ended() const { return stop_requested() || answer_lost(); }
bool Display::broken_off() const { return stop_requested(); }

std::unique_ptr<Display> make_display(DisplayKind kind, const BlockDevice& device) {
  switch (kind) {
    case DisplayKind::document:
      return std::make_unique<Document>(device);
    case DisplayKind::json_lines:
      return std::make_unique<JsonLines>(device);
    case DisplayKind::screen:
      if (auto terminal = Terminal::open()) {
        return std::make_unique<Screen>(device, std::move(terminal));
      }
      break;
    case DisplayKind::lines:
      break;
  }
  return std::make_unique<Lines>(device);
}

}  // namespace blksweep
