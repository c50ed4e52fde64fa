#include "os/stuck_open.h"

#include <sys/syscall.h>

#include <charconv>
#include <filesystem>
#include <string_view>

#include "base/clock.h"
#include "os/file.h"

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

}  // namespace

bool StuckOpen::stuck(const std::string& task, std::int64_t now) {
  const std::string call = first_line(task + "/syscall");
  if (!is_open(call)) {
    threads_.erase(task);
    return false;
  }
  const std::string schedstat = first_line(task + "/schedstat");
  const std::string state = call + "; " + schedstat.substr(0, schedstat.find(' '));
  Seen& seen = threads_[task];
  if (seen.state != state) {
    seen = {state, now};
  }
  return now - seen.since_ns > limit_.count();
}

bool StuckOpen::operator()(pid_t program) {
  const std::int64_t now = now_ns();
  bool any = false;
  std::error_code ignored;
  for (const auto& task :
       std::filesystem::directory_iterator("/proc/" + std::to_string(program) + "/task", ignored)) {
    any |= stuck(task.path().string(), now);
  }
  return any;
}

}  // namespace blksweep
