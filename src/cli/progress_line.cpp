#include "cli/progress_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/clock.h"
#include "base/units.h"
#include "cli/status_line.h"

namespace blksweep {
namespace {

std::string rate_text(std::uint64_t samples, std::uint64_t total, double rate) {
  // Of a run that has only begun no rate is known: that is not one of 0.
  return fmt::format(
      " {} of {} samples{}", format_count(samples), format_count(total),
      rate >= 1 ? fmt::format(", {} samples/s", format_count(static_cast<std::uint64_t>(rate)))
                : "");
}

class Line {
 public:
  explicit Line(const Progress& progress) : progress_(progress), begin_ns_(now_ns()) {}

  std::string text() {
    const std::size_t run = progress_.run.load(std::memory_order_relaxed);
    const std::size_t runs = progress_.runs.load(std::memory_order_relaxed);
    const std::uint64_t samples = progress_.samples.load(std::memory_order_relaxed);
    const std::uint64_t total = progress_.samples_total.load(std::memory_order_relaxed);
    const std::string_view phase = progress_.phase.load(std::memory_order_relaxed);
    if (run == 0) {
      return {};
    }
    const std::int64_t now = now_ns();
    const bool same = run == last_run_ && samples >= last_samples_ && now > last_ns_;
    const double rate = same ? static_cast<double>(samples - last_samples_) * 1e9 /
                                   static_cast<double>(now - last_ns_)
                             : 0;
    last_run_ = run;
    last_samples_ = samples;
    last_ns_ = now;
    const double part = total > 0 ? static_cast<double>(samples) / static_cast<double>(total) : 0;
    const double done = (static_cast<double>(run - 1) + part) / static_cast<double>(runs);
    double left = done > 0 ? static_cast<double>(now - begin_ns_) * (1 - done) / done : 0;
    if (const std::int64_t deadline = progress_.deadline_ns.load(); deadline > 0) {
      left = std::min(left, static_cast<double>(std::max<std::int64_t>(deadline - now, 0)));
    }
    const std::size_t intervals = progress_.intervals.load(std::memory_order_relaxed);
    return fmt::format(
        "[{}/{}{}] {}{}{}{}", run, intervals > 0 ? "~" : "", std::max(run, runs), phase,
        phase == "reading" ? rate_text(samples, total, rate) : "",
        intervals > 0
            ? fmt::format(", {} of {} intervals narrow enough", progress_.narrow.load(), intervals)
            : "",
        done > 0
            ? fmt::format(", about {} left", format_duration(Nanos{static_cast<Nanos::rep>(left)}))
            : "");
  }

 private:
  const Progress& progress_;
  std::int64_t begin_ns_;
  std::size_t last_run_ = 0;
  std::uint64_t last_samples_ = 0;
  std::int64_t last_ns_ = 0;
};

}  // namespace

ProgressLine::ProgressLine(const Progress& progress)
    : thread_([&progress](const std::stop_token& done) {
        Line line(progress);
        repeat_line(done, [&line] { return line.text(); });
      }) {}

ProgressLine::~ProgressLine() {
  thread_.request_stop();
  thread_.join();
}

}  // namespace blksweep
