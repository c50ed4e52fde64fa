#include "os/block/io_priority.h"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace blksweep {
namespace {

using Class = IoPriority::Class;

// Kernel ABI. <linux/ioprio.h> has an argument called "class" in some releases and so is no C++.
constexpr int kWhoProcess = 1;
constexpr int kClassShift = 13;
constexpr long kLevelMask = 7;  // newer kernels keep hints between level and class

bool has_level(Class c) { return c == Class::realtime || c == Class::best_effort; }

long kernel_class(Class c) {
  switch (c) {
    case Class::realtime:
      return 1;
    case Class::best_effort:
      return 2;
    case Class::idle:
      return 3;
    case Class::none:
      break;
  }
  return 0;
}

Class our_class(long value) {
  for (const Class c : {Class::realtime, Class::best_effort, Class::idle}) {
    if (kernel_class(c) == value >> kClassShift) {
      return c;
    }
  }
  return Class::none;
}

}  // namespace

Result<IoPriority> parse_io_priority(std::string_view text) {
  if (text == "none") {
    return IoPriority{};
  }
  if (text == "idle") {
    return IoPriority{Class::idle, 0};
  }
  const bool levelled = text.size() == 4 && (text.starts_with("rt:") || text.starts_with("be:"));
  if (!levelled || text[3] < '0' || text[3] > '7') {
    return usage_error(fmt::format(
        "I/O priority '{}': give none, idle, be:0 (first) to be:7 or rt:0 to rt:7", text));
  }
  return IoPriority{text[0] == 'r' ? Class::realtime : Class::best_effort, text[3] - '0'};
}

std::string to_string(const IoPriority& priority) {
  switch (priority.priority_class) {
    case Class::realtime:
      return fmt::format("rt:{}", priority.level);
    case Class::best_effort:
      return fmt::format("be:{}", priority.level);
    case Class::idle:
      return "idle";
    case Class::none:
      break;
  }
  return "none";
}

Result<IoPriority> set_io_priority(const IoPriority& priority) {
  const long level = has_level(priority.priority_class) ? priority.level : 0;
  const long value = kernel_class(priority.priority_class) << kClassShift | level;
  if (::syscall(SYS_ioprio_set, kWhoProcess, 0, value) != 0) {
    const int error = errno;
    const std::string what = "set I/O priority " + to_string(priority);
    if (error == EPERM) {
      return unsupported(what +
                         ": not permitted; real time needs CAP_SYS_NICE or CAP_SYS_ADMIN: run as "
                         "root, or use be:0");
    }
    return sys_error(error, what);
  }
  return io_priority();
}

Result<IoPriority> io_priority() {
  const long got = raw_io_priority();
  if (got < 0) {
    return sys_error(errno, "read the I/O priority back");
  }
  const Class c = our_class(got);
  return IoPriority{c, has_level(c) ? static_cast<int>(got & kLevelMask) : 0};
}

long raw_io_priority() { return ::syscall(SYS_ioprio_get, kWhoProcess, 0); }

void set_raw_io_priority(long value) { ::syscall(SYS_ioprio_set, kWhoProcess, 0, value); }

bool heeds_io_priority(std::string_view scheduler) {
  return scheduler == "bfq" || scheduler == "mq-deadline";
}

}  // namespace blksweep
