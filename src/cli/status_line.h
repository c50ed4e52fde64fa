// StatusLine: one line on stderr about work in progress, rewritten on a terminal, else a note now
// and then; with --quiet neither. For loops that report themselves; repeat_line() is for work that
// only counts.
//
// Threads: StatusLine is its caller's; repeat_line() runs on a thread of its own until told to end.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

#include "base/units.h"

namespace blksweep {

class StatusLine {
 public:
  StatusLine(Nanos terminal_period, Nanos plain_period);
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;
  ~StatusLine() { clear(); }

  // Whether it is time to show a text again; the period begins anew then.
  bool due();
  void show(const std::string& text);
  void clear();
  bool on_terminal() const { return terminal_; }

 private:
  bool terminal_, shown_ = false;
  Nanos period_;
  std::int64_t last_ns_;
};

// Shows text() five times a second on a terminal that can rewrite its line (TERM, NO_COLOR), else
// every ten seconds, until `done`; takes the line away then. An empty text is not shown.
void repeat_line(const std::stop_token& done, const std::function<std::string()>& text);

}  // namespace blksweep
