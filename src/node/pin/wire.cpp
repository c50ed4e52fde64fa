#include "node/pin/wire.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <string_view>

#include "base/json.h"
#include "os/file/file.h"

namespace blksweep {
namespace {

constexpr int kLookMs = 100;

void tell(int fd, const Json& word) {
  const std::string line = json_line(word) + "\n";
  // Who does not listen any more is told nothing: the daemon sees that by itself.
  [[maybe_unused]] const Result<> told =
      write_full(fd, std::as_bytes(std::span(line)), "the pipe to cache pin");
}

Result<std::optional<PinEntry>> understand(const std::string& line, const PinProgress& progress) {
  const Json word = parse_json(line);
  if (word.is_object() && word.contains("done") && word["done"].is_number_unsigned()) {
    if (progress) {
      progress(word["done"].get<std::uint64_t>());
    }
    return std::optional<PinEntry>();
  }
  if (word.is_object() && word.contains("held") && word["held"].is_string()) {
    BLKSWEEP_TRY(PinEntry entry,
                 parse_pin_entry(word["held"].get<std::string>(), "the daemon's word"));
    return std::optional(std::move(entry));
  }
  if (word.is_object() && word.contains("error") && word["error"].is_string()) {
    return fail(word["error"].get<std::string>(), Exit{word.value("code", 1)});
  }
  return fail("the pin's daemon says what is not understood: " + line);
}

// Whether one of the events is there, or nobody is at the other end.
bool is_now(int fd, short events) {
  std::array look{pollfd{fd, events, 0}};
  return ::poll(look.data(), look.size(), 0) > 0;
}

}  // namespace

Result<PinPipe> PinPipe::make() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return sys_error(errno, "pipe to the pin's daemon");
  }
  const auto [read_end, write_end] = ends;
  return PinPipe{Fd(read_end), Fd(write_end)};
}

void tell_progress(int fd, std::uint64_t files_done) {
  if (is_now(fd, POLLOUT)) {  // or nobody listens: tell() says nothing then
    tell(fd, {{"done", files_done}});
  }
}

void tell_held(int fd, const PinEntry& entry) { tell(fd, {{"held", to_json_text(entry)}}); }

void tell_error(int fd, const Error& error) {
  tell(fd, {{"error", error.text}, {"code", static_cast<int>(error.exit_code)}});
}

bool is_listened_to(int fd) {
  return !is_now(fd, 0);  // one that cannot be asked may listen
}

Result<PinEntry> hear(int fd, const std::function<bool()>& look, const PinProgress& progress) {
  std::string text;
  std::array<char, 4096> part{};
  while (look()) {
    pollfd wait{fd, POLLIN, 0};
    if (::poll(&wait, 1, kLookMs) <= 0) {
      continue;
    }
    const ssize_t n = ::read(fd, part.data(), part.size());
    if (n < 0) {  // never EINTR: there is something to read
      return sys_error(errno, "read what the pin's daemon says");
    }
    if (n == 0) {
      return fail("the pin's daemon ended before everything was pinned (memory?)");
    }
    text.append(part.data(), static_cast<std::size_t>(n));
    for (std::size_t end = 0; (end = text.find('\n')) != std::string::npos;) {
      BLKSWEEP_TRY(std::optional<PinEntry> entry, understand(text.substr(0, end), progress));
      if (entry) {
        return *std::move(entry);
      }
      text.erase(0, end + 1);
    }
  }
  return fail("interrupted: nothing is pinned", Exit::interrupted);
}

}  // namespace blksweep
