#include "node/pin/daemon.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/close_range.h>
#include <malloc.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <sstream>
#include <utility>

#include "base/clock.h"
#include "node/pin/wire.h"
#include "os/file/file.h"
#include "os/memory/memory_room.h"
#include "os/process/process_id.h"
#include "os/process/signals.h"

namespace blksweep {
namespace {

constexpr int kPipe = 3;
constexpr std::chrono::seconds kPatience{60};  // a million descriptors are closed in one

std::int64_t slab_bytes() {
  return static_cast<std::int64_t>(meminfo("Slab").value_or(Bytes{0}).n);
}

// The two that matter, in the process that holds.
struct Held {
  std::optional<InodePin> inodes;
  std::optional<PagePin> pages;
  bool is_whole() const { return inodes || pages->is_whole(); }
  const PinCount& count() const { return inodes ? inodes->count() : pages->count(); }
};

Result<Held> take(const PinOrder& order, const std::function<bool()>& stop,
                  const PinProgress& progress) {
  Held held;
  if (order.kind == PinKind::inodes) {
    BLKSWEEP_TRY(held.inodes, InodePin::take(order.files, stop, progress));
  } else {
    BLKSWEEP_TRY(held.pages, PagePin::take(order.files, stop, progress));
  }
  if (held.count().files == 0) {
    return fail(fmt::format("nothing could be pinned, {} failed, the first: {}",
                            format_count(held.count().failed), held.count().first_error));
  }
  return held;
}

// SIGTERM asks for the end; SIGCHLD tells that a helper was killed.
sigset_t awaited_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGCHLD);
  return set;
}

bool end_is_asked() {
  sigset_t pending;
  return ::sigpending(&pending) == 0 && sigismember(&pending, SIGTERM) == 1;
}

void become_daemon(int pipe) {
  ::setsid();
  ::prctl(PR_SET_NAME, "blksweep-pin");
  for (const int number : {SIGINT, SIGHUP, SIGPIPE}) {
    ::signal(number, SIG_IGN);
  }
  ::dup2(pipe, kPipe);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    ::close(stream);
    [[maybe_unused]] const int null = ::open("/dev/null", O_RDWR);  // the lowest: that stream
  }
  ::syscall(SYS_close_range, kPipe + 1, ~0U, 0);
  [[maybe_unused]] const int moved = ::chdir("/");
}

class Daemon {
 public:
  Daemon(const PinRegistry& registry, PinOrder order)
      : registry_(registry), order_(std::move(order)) {
    entry_.name = order_.name;
    entry_.kind = order_.kind;
    entry_.roots = order_.roots;
    entry_.count.files = order_.files.count;
    entry_.memory_source = order_.cost.memory_source;
    entry_.kernel_memory = order_.cost.kernel_memory;
    entry_.since_unix_ns = unix_ns();
  }

  Result<> run() {
    BLKSWEEP_TRY(entry_.daemon, own_id());
    BLKSWEEP_CHECK(registry_.claim(entry_));
    const Result<End> result = pin_and_wait();
    if (result && *result == End::broken) {
      return {};  // the entry stays, as a dead one: half a pin would be taken for a whole one
    }
    const Result<> removed = registry_.remove(entry_.name, entry_.daemon);
    return result ? removed : Result<>(tl::unexpected(result.error()));
  }

 private:
  enum class End { asked, broken };

  Result<End> pin_and_wait() {
    const std::int64_t begin = now_ns();
    const std::int64_t slabs = slab_bytes();
    BLKSWEEP_TRY(const Held held,
                 take(
                     order_, [] { return end_is_asked() || !is_listened_to(kPipe); },
                     [](std::uint64_t done) { tell_progress(kPipe, done); }));
    entry_.took_ns = now_ns() - begin;
    entry_.slab_growth = slab_bytes() - slabs;
    entry_.count = held.count();
    entry_.held = true;
    BLKSWEEP_CHECK(registry_.save(entry_));
    tell_held(kPipe, entry_);
    ::close(kPipe);
    order_ = {};  // the names: a million of them are 100 MB
    ::malloc_trim(0);
    const sigset_t awaited = awaited_signals();
    for (int number = 0; number != SIGTERM;) {
      ::sigwait(&awaited, &number);
      if (number == SIGCHLD && !held.is_whole()) {
        return End::broken;
      }
    }
    return End::asked;
  }

  const PinRegistry& registry_;
  PinOrder order_;
  PinEntry entry_;
};

// They stay blocked in the daemon, which waits for them; never lost between fork and there.
Result<pid_t> fork_daemon(const PinRegistry& registry, PinOrder order, const PinPipe& pipe) {
  const BlockedSignals blocked(awaited_signals());
  const pid_t pid = ::fork();
  if (pid == 0) {
    become_daemon(pipe.write_end.get());
    Daemon daemon(registry, std::move(order));
    const Result<> result = daemon.run();
    if (!result) {
      tell_error(kPipe, result.error());
    }
    ::_exit(result ? 0 : 1);
  }
  if (pid < 0) {
    return sys_error(errno, "fork the pin's daemon");
  }
  return pid;
}

}  // namespace

Result<PinEntry> start_pin_daemon(const PinRegistry& registry, PinOrder order,
                                  const std::function<bool()>& stop, const PinProgress& progress) {
  BLKSWEEP_CHECK(registry.check_free(order.name));
  BLKSWEEP_TRY(PinPipe pipe, PinPipe::make());
  BLKSWEEP_TRY(const pid_t pid, fork_daemon(registry, std::move(order), pipe));
  pipe.write_end.reset();
  Result<PinEntry> entry = hear(
      pipe.read_end.get(), [&stop] { return !stop || !stop(); }, progress);
  if (!entry) {
    // Not listening ends it; what it has pinned is let go when it is reaped.
    pipe.read_end.reset();
    ::kill(pid, SIGTERM);  // ours and not reaped, so the pid is its own
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  return entry;
}

Result<> end_pin_daemon(const PinRegistry& registry, const PinEntry& entry) {
  ask_to_end(entry.daemon);
  if (!wait_for_end(entry.daemon, kPatience)) {
    return fail(
        fmt::format("pin {}: its daemon, pid {}, did not end within {} s: kill -9 {} lets "
                    "everything go, too",
                    entry.name, entry.daemon.pid, kPatience.count(), entry.daemon.pid));
  }
  return registry.remove(entry.name, entry.daemon);
}

}  // namespace blksweep
