#include "cli/progress_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <string_view>

#include "base/clock.h"
#include "base/log.h"
#include "base/units.h"

namespace blksweep {
namespace {

constexpr auto kTerminalPeriod = std::chrono::milliseconds(200);
constexpr auto kPlainPeriod = std::chrono::seconds(10);

bool rewriting() {
  const char* term = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && term != nullptr && std::string_view(term) != "dumb" &&
         std::getenv("NO_COLOR") == nullptr;
}

std::string rate_text(std::uint64_t samples, std::uint64_t total, double rate) {
  return fmt::format(" {} of {} samples, {} samples/s", format_count(samples), format_count(total),
                     format_count(static_cast<std::uint64_t>(rate)));
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
    const double left = done > 0 ? static_cast<double>(now - begin_ns_) * (1 - done) / done : 0;
    return fmt::format("[{}/{}] {}{}{}", run, runs, phase,
                       phase == "reading" ? rate_text(samples, total, rate) : "",
                       done > 0 ? fmt::format(", about {} left",
                                              format_duration(Nanos{static_cast<Nanos::rep>(left)}))
                                : "");
  }

 private:
  const Progress& progress_;
  std::int64_t begin_ns_;
  std::size_t last_run_ = 0;
  std::uint64_t last_samples_ = 0;
  std::int64_t last_ns_ = 0;
};

void rewrite(const std::string& text) {
  const std::string out = "\r\033[K" + text;
  [[maybe_unused]] const ssize_t n = ::write(STDERR_FILENO, out.data(), out.size());
}

void print_until(const std::stop_token& done, const Progress& progress) {
  Line line(progress);
  const bool terminal = rewriting();
  const std::chrono::milliseconds period = terminal ? kTerminalPeriod : kPlainPeriod;
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  while (!wake.wait_for(lock, done, period, [&] { return done.stop_requested(); })) {
    const std::string text = line.text();
    if (terminal) {
      rewrite(text);
    } else if (!text.empty()) {
      note(text);
    }
  }
  if (terminal) {
    rewrite("");
  }
}

}  // namespace

ProgressLine::ProgressLine(const Progress& progress)
    : thread_([&progress](const std::stop_token& done) { print_until(done, progress); }) {}

ProgressLine::~ProgressLine() {
  thread_.request_stop();
  thread_.join();
}

}  // namespace blksweep
