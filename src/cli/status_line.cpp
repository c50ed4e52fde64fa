#include "cli/status_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/log.h"

namespace blksweep {
namespace {

constexpr auto kTerminalPeriod = std::chrono::milliseconds(200);
constexpr auto kPlainPeriod = std::chrono::seconds(10);

bool can_rewrite() {
  const char* term = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && term != nullptr && std::string_view(term) != "dumb" &&
         std::getenv("NO_COLOR") == nullptr;
}

// In one write: other threads print warnings meanwhile.
void rewrite(const std::string& text) {
  const std::string out = "\r\033[K" + text;
  [[maybe_unused]] const ssize_t n = ::write(STDERR_FILENO, out.data(), out.size());
}

}  // namespace

StatusLine::StatusLine(Nanos terminal_period, Nanos plain_period)
    : terminal_(::isatty(STDERR_FILENO) == 1),
      period_(terminal_ ? terminal_period : plain_period),
      last_ns_(now_ns()) {}

bool StatusLine::due() {
  if (is_quiet()) {
    return false;
  }
  const std::int64_t now = now_ns();
  if (now - last_ns_ < period_.count()) {
    return false;
  }
  last_ns_ = now;
  return true;
}

void StatusLine::show(const std::string& text) {
  if (is_quiet()) {
    return;
  }
  if (terminal_) {
    rewrite(text);
    shown_ = true;
  } else {
    note(text);
  }
}

void StatusLine::clear() {
  if (std::exchange(shown_, false)) {
    rewrite("");
  }
}

void repeat_line(const std::stop_token& done, const std::function<std::string()>& text) {
  if (is_quiet()) {
    return;
  }
  const bool terminal = can_rewrite();
  const std::chrono::milliseconds period = terminal ? kTerminalPeriod : kPlainPeriod;
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  bool shown = false;
  while (!wake.wait_for(lock, done, period, [&] { return done.stop_requested(); })) {
    const std::string line = text();
    if (terminal) {
      rewrite(line);
      shown = true;
    } else if (!line.empty()) {
      note(line);
    }
  }
  if (shown) {
    rewrite("");
  }
}

}  // namespace blksweep
