#include "disk/daemon.h"

#include <fmt/format.h>
#include <linux/prctl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <memory>
#include <thread>
#include <utility>

#include "base/log.h"
#include "disk/backing.h"
#include "disk/fuse_files.h"
#include "os/file/file.h"
#include "os/process/process_id.h"

namespace blksweep {
namespace {

void report(const char* what, int result) {
  if (result != 0) {
    note(sys_error(errno, what).value().message() + " (going on without)");
  }
}

// Before any thread: all of these go on to the threads that are started later.
void become_device() {
  ::prctl(PR_SET_NAME, "blksweep-disk");
  report("PR_SET_IO_FLUSHER", ::prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0));
  report("timer slack of 1 ns", ::prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0));
  // On fault only: the mapping of a memory disk is as large as the disk.
  report("mlockall", ::mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT));
  const sched_param lowest{.sched_priority = 1};
  report("SCHED_FIFO", ::sched_setscheduler(0, SCHED_FIFO, &lowest));
  std::ofstream("/proc/self/oom_score_adj") << -900;
}

Result<> write_daemon_file(const Registry& registry, const std::string& name) {
  BLKSWEEP_TRY(const ProcessId id, own_id());
  return write_file(registry.daemon_file(name), fmt::format("{} {}\n", id.pid, id.start_time));
}

Result<std::unique_ptr<Backing>> open_backing(const DiskState& state) {
  if (state.backing == kMemoryBacking) {
    BLKSWEEP_TRY(auto memory, Backing::memory(Bytes{state.size}));
    if (!state.image.empty()) {
      BLKSWEEP_CHECK(memory->copy_of(state.image));
    }
    return memory;
  }
  BLKSWEEP_TRY(auto backing, Backing::file(state.backing, Bytes{state.size}));
  if (!backing->is(state.backing_device, state.backing_inode)) {
    return fail(state.backing + " is another file than a moment ago: look who replaced it");
  }
  return backing;
}

sigset_t block_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGUSR1}) {
    sigaddset(&set, number);
  }
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return set;
}

// Takes the signals of the process; SIGUSR1 ends the thread itself.
class SignalThread {
 public:
  SignalThread(FuseFiles& files, const sigset_t& set)
      : thread_([&files, set] { run(files, set); }) {}
  SignalThread(const SignalThread&) = delete;
  SignalThread& operator=(const SignalThread&) = delete;
  ~SignalThread() {
    ::pthread_kill(thread_.native_handle(), SIGUSR1);
    thread_.join();
  }

 private:
  static void run(FuseFiles& files, const sigset_t& set) {
    int number = 0;
    while (::sigwait(&set, &number) == 0 && number != SIGUSR1) {
      if (number != SIGTERM) {
        continue;
      }
      if (files.is_used()) {
        note("SIGTERM is ignored: the disk is in use (blksweep disk stop NAME)");
      } else {
        files.end();
      }
    }
  }
  std::thread thread_;
};

Result<> serve(const Registry& registry, const DaemonArguments& a, Fd& ready) {
  BLKSWEEP_CHECK(write_daemon_file(registry, a.name));
  BLKSWEEP_TRY(const DiskState state, registry.load(a.name));
  become_device();
  BLKSWEEP_TRY(const std::unique_ptr<Backing> backing, open_backing(state));
  const sigset_t signals = block_signals();
  FuseFiles files(*backing, a.name);
  std::unique_ptr<SignalThread> waiter;
  const auto now_ready = [&]() -> Result<> {
    waiter = std::make_unique<SignalThread>(files, signals);
    constexpr std::string_view kReady = "ready";
    BLKSWEEP_CHECK(write_full(ready.get(), std::as_bytes(std::span(kReady)), "the pipe to start"));
    ready.reset();
    return {};
  };
  BLKSWEEP_CHECK(files.run(registry.io_folder(a.name), now_ready));
  waiter.reset();
  if (const int error = backing->sync(); error != 0) {
    warn(sys_error(error, "sync " + state.backing).value().message());
  }
  return write_file(registry.last_stats_file(a.name), files.stats_text());
}

}  // namespace

Result<> run_disk_daemon(const Registry& registry, const DaemonArguments& arguments) {
  Fd ready(arguments.ready_fd);
  Result<> served = serve(registry, arguments, ready);
  if (!served && ready) {
    const std::string text =
        fmt::format("{} {}", static_cast<int>(served.error().exit_code), served.error().message());
    [[maybe_unused]] const auto told =
        write_full(ready.get(), std::as_bytes(std::span(text)), "the pipe to start");
  }
  return served;
}

}  // namespace blksweep
