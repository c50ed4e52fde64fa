#include "os/file/stuck_open.h"

#include <sys/syscall.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>

#include "base/clock.h"
#include "os/file/file.h"

namespace blksweep {
namespace {

bool is_open(std::string_view syscall) {
  long number = -1;
  std::from_chars(syscall.data(), syscall.data() + syscall.size(), number);
#ifdef SYS_open
  if (number == SYS_open) {
    return true;
  }
#endif
  return number == SYS_openat || number == SYS_openat2;
}

// A FIFO or a character device that was opened by its name, and may never answer.
bool may_never_answer(const std::filesystem::path& fd) {
  std::error_code error;
  const std::string name = std::filesystem::read_symlink(fd, error).string();
  const auto type = std::filesystem::status(fd, error).type();
  const bool stream =
      type == std::filesystem::file_type::fifo || type == std::filesystem::file_type::character;
  return stream && name.starts_with('/') && name != "/dev/null" && name != "/dev/zero" &&
         name != "/dev/random" && name != "/dev/urandom";
}

bool any_may_never_answer(const std::string& folder) {
  std::error_code ignored;
  const std::filesystem::directory_iterator all(folder, ignored);
  return std::any_of(begin(all), end(all),
                     [](const auto& fd) { return may_never_answer(fd.path()); });
}

}  // namespace

StuckOpen::Wait StuckOpen::look(const std::string& task, std::int64_t now) {
  const std::string call = first_line(task + "/syscall");
  const std::string schedstat = first_line(task + "/schedstat");
  const std::string state = call + "; " + schedstat.substr(0, schedstat.find(' '));
  Seen& seen = threads_[task];
  if (seen.state != state) {
    seen = {state, now};
  }
  const bool waits = !call.empty() && call != "running" && now - seen.since_ns > limit_.count();
  return !waits ? Wait::none : is_open(call) ? Wait::open : Wait::some_call;
}

bool StuckOpen::operator()(pid_t program) {
  const std::int64_t now = now_ns();
  const std::string proc = "/proc/" + std::to_string(program);
  bool some_call = false;
  std::error_code ignored;
  for (const auto& task : std::filesystem::directory_iterator(proc + "/task", ignored)) {
    const Wait wait = look(task.path().string(), now);
    if (wait == Wait::open) {
      return true;
    }
    some_call |= wait == Wait::some_call;
  }
  const bool just_looked = now - looked_ns_ < limit_.count();  // it costs time beside a measurement
  if (!some_call || just_looked) {
    return false;
  }
  looked_ns_ = now;
  return any_may_never_answer(proc + "/fd");
}

}  // namespace blksweep
