#include "cli/terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "base/clock.h"
#include "base/text.h"
#include "os/process/signals.h"

namespace blksweep {
namespace {

// xterm's, which all of today's terminals, tmux and the console know.
constexpr const char* kEnter = "\033[?1049h\033[?25l\033[?7l";  // other screen, no cursor, no wrap
constexpr const char* kLeave = "\033[?7h\033[?25h\033[?1049l";
constexpr char kCtrlC = 3, kCtrlZ = 26, kCtrlBackslash = 28;
constexpr std::int64_t kSliceNs = 100'000'000;

bool can_draw() {
  const char* term = std::getenv("TERM");
  return ::isatty(STDOUT_FILENO) == 1 && term != nullptr && *term != '\0' &&
         std::string_view(term) != "dumb";
}

// Bytes of the first `columns` characters.
std::string cut(const std::string& text, std::size_t columns) {
  std::size_t characters = 0, at = 0;
  for (; at < text.size(); ++at) {
    const bool begins = (static_cast<unsigned char>(text[at]) & 0xC0U) != 0x80U;
    if (begins && characters++ == columns) {
      break;
    }
  }
  return text.substr(0, at);
}

}  // namespace

std::unique_ptr<Terminal> Terminal::open() {
  if (!can_draw()) {
    return nullptr;
  }
  Fd keys(::open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  termios before{};
  if (!keys || ::tcgetattr(keys.get(), &before) != 0) {
    return nullptr;
  }
  std::unique_ptr<Terminal> terminal(new Terminal(std::move(keys), before));
  terminal->enter();
  return terminal;
}

Terminal::~Terminal() { leave(); }

void Terminal::enter() {
  termios raw = before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG);
  ::tcsetattr(keys_.get(), TCSANOW, &raw);
  write(kEnter);
}

void Terminal::leave() {
  write(kLeave);
  ::tcsetattr(keys_.get(), TCSANOW, &before_);
}

void Terminal::write(const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(STDOUT_FILENO, text.data() + done, text.size() - done);
    if (n < 0 && errno != EINTR) {
      lost_ = true;
      return;
    }
    done += n > 0 ? static_cast<std::size_t>(n) : 0;
  }
}

ScreenSize Terminal::size() const {
  winsize now{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &now) != 0 || now.ws_col == 0 || now.ws_row == 0) {
    return {};
  }
  return {.columns = now.ws_col, .rows = now.ws_row};
}

// In one write, each line over the old one: nothing flickers.
void Terminal::draw(const std::vector<ScreenLine>& lines) {
  drawn_ = size();
  std::string out = "\033[H";
  for (std::size_t i = 0; i < std::min(lines.size(), drawn_.rows); ++i) {
    const std::string text = cut(printable(lines[i].text), drawn_.columns);
    out += i == 0 ? "" : "\r\n";
    out += lines[i].marked ? "\033[7m" + text + "\033[0m" : text;
    out += text.size() < drawn_.columns ? "\033[K" : "";  // at the edge it would take a character
  }
  write(out + (lines.size() < drawn_.rows ? "\r\n\033[J" : ""));
}

void Terminal::wait_until(std::int64_t when_ns) {
  while (!end_wanted_ && !stop_requested() && size() == drawn_) {
    const std::int64_t left = std::min(when_ns - now_ns(), kSliceNs);
    if (left <= 0) {
      return;
    }
    pollfd keys{.fd = keys_.get(), .events = POLLIN, .revents = 0};
    if (::poll(&keys, 1, static_cast<int>(left / 1'000'000 + 1)) > 0) {
      take_keys();
    }
  }
}

void Terminal::take_keys() {
  std::array<char, 64> keys{};
  const ssize_t n = ::read(keys_.get(), keys.data(), keys.size());
  end_wanted_ = end_wanted_ || n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
  for (ssize_t i = 0; i < n; ++i) {
    const char key = keys[static_cast<std::size_t>(i)];
    if (key == kCtrlZ) {
      leave();
      ::kill(0, SIGTSTP);  // as the terminal would have: all of the pipeline
      enter();
      drawn_ = {.columns = 0, .rows = 0};
    }
    end_wanted_ = end_wanted_ || key == 'q' || key == kCtrlC || key == kCtrlBackslash;
  }
}

}  // namespace blksweep
