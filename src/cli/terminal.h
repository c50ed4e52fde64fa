// Terminal: the whole screen for a view that is drawn anew, and the keys meanwhile.
//
// The screen is the alternate one, so that what stood there is there again afterwards. Ctrl-C,
// Ctrl-Z and Ctrl-\ arrive as keys and not as signals: nothing ends between two halves of a change
// of the terminal's state, and Ctrl-Z gives the terminal back before it stops the process.
//
// Errors:  open() is nothing where stdout is no terminal, or one that cannot be drawn on (TERM).
// Lines:   plain text; what is longer than the screen is wide, or below its end, is not shown.
// Threads: one owner, the main thread.
#pragma once

#include <termios.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"

namespace blksweep {

struct ScreenSize {
  std::size_t columns = 80, rows = 24;
  bool operator==(const ScreenSize&) const = default;
};

struct ScreenLine {
  std::string text;
  bool marked = false;  // in reverse: a heading, or something that must be seen
};

class Terminal {
 public:
  static std::unique_ptr<Terminal> open();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal();

  ScreenSize size() const;
  void draw(const std::vector<ScreenLine>& lines);
  // Until then, or earlier: when the size is another one, or the user wants to end.
  void wait_until(std::int64_t when_ns);
  bool end_wanted() const { return end_wanted_; }  // q, Ctrl-C, Ctrl-\, or nobody is there any more
  bool lost() const { return lost_; }              // it could not be written to

 private:
  Terminal(Fd keys, const termios& before) : keys_(std::move(keys)), before_(before) {}
  void enter();
  void leave();
  void write(const std::string& text);
  void take_keys();

  Fd keys_;
  termios before_;
  ScreenSize drawn_;
  bool end_wanted_ = false, lost_ = false;
};

}  // namespace blksweep
