// InodePin: threads, each with a descriptor table of its own.
//
// Their descriptors are opened with syscall(2) and never leave the thread: a sanitizer that
// followed descriptors by number would take those of different tables for the same.
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "node/limits/descriptor_room.h"
#include "node/pin/pin.h"

namespace blksweep {
namespace {

constexpr auto kLookEvery = std::chrono::milliseconds(20);
constexpr std::uint64_t kCountEvery = 64;
constexpr unsigned kFirstOwn = 3;  // the standard streams stay

struct Share {
  std::size_t begin = 0, end = 0;
};

// What the owner and its helpers share; everything that is no atomic is guarded by the mutex.
struct Board {
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t opened = 0;  // helpers that are through with their share
  bool let_go = false;
  std::vector<Share> left;  // what found no room in a helper's table: links take two descriptors
  PinCount count;
  Result<> broken;
  std::atomic<std::uint64_t> done{0};
  std::atomic<bool> stop{false};
};

int raw_open(const std::string& path, int flags) {
  return static_cast<int>(
      ::syscall(SYS_openat, AT_FDCWD, path.c_str(), O_PATH | O_CLOEXEC | flags));
}

void close_own() { ::syscall(SYS_close_range, kFirstOwn, ~0U, 0); }

// Holds one file; 0 or an errno.
int hold(const std::string& path, PinCount& count) {
  const int fd = raw_open(path, O_NOFOLLOW);
  if (fd < 0) {
    return errno;
  }
  struct stat st {};
  if (::syscall(SYS_newfstatat, fd, "", &st, AT_EMPTY_PATH) != 0) {
    const int error = errno;
    ::syscall(SYS_close, fd);
    return error;
  }
  if (S_ISLNK(st.st_mode) && raw_open(path, 0) < 0) {
    const int error = errno;
    ::syscall(SYS_close, fd);
    return error;
  }
  ++count.files;
  count.folders += S_ISDIR(st.st_mode) ? 1 : 0;
  return 0;
}

tl::unexpected<Error> room_error(int error, const std::string& path) {
  const char* limit = error == EMFILE   ? "RLIMIT_NOFILE"
                      : error == ENFILE ? "fs.file-max"
                                        : "the memory, or the memory limit of the cgroup,";
  return sys_error(error, "pin " + path + ": " + limit + " is too small: raise it, or pin less");
}

// Holds what there is room for; `share` is what is left then.
Result<> hold_share(const PinFiles& files, Share& share, Board& board, PinCount& count) {
  if (::syscall(SYS_close_range, kFirstOwn, ~0U, CLOSE_RANGE_UNSHARE) != 0) {
    return sys_error(errno, "a descriptor table for a pin (close_range, needs Linux 5.9)");
  }
  const std::size_t begin = share.begin;
  for (; share.begin < share.end && !board.stop.load(); ++share.begin) {
    const std::string path = files.path(share.begin);
    const int error = hold(path, count);
    if (error == EMFILE && share.begin > begin) {
      return {};
    }
    if (error == EMFILE || error == ENFILE || error == ENOMEM) {
      return room_error(error, path);
    }
    if (error != 0 && count.failed++ == 0) {
      count.first_error = sys_error(error, "open " + path).value().text;
    }
    if ((share.begin - begin) % kCountEvery == kCountEvery - 1) {
      board.done.fetch_add(kCountEvery, std::memory_order_relaxed);
    }
  }
  return {};
}

void help(const PinFiles* files, Share share, Board& board) {
  ::prctl(PR_SET_NAME, "blksweep-pin");
  PinCount count;
  Result<> held = hold_share(*files, share, board, count);
  std::unique_lock lock(board.mutex);
  board.count.add(count);
  if (!held) {
    board.broken = std::move(held);
    board.stop.store(true);
  } else if (share.begin < share.end && !board.stop.load()) {
    board.left.push_back(share);
  }
  ++board.opened;
  board.changed.notify_all();
  // From here on `files` may be gone.
  board.changed.wait(lock, [&board] { return board.let_go; });
  lock.unlock();
  close_own();  // joining does not wait for what the end of a thread closes
}

class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

}  // namespace

struct InodePin::State {
  Board board;
  Fd witness;  // the first file, in the process's own table: lsof and fuser look there only
  std::vector<std::thread> helpers;

  ~State() { end(); }

  void start(const PinFiles& files, Share share) {
    const SignalsBlocked blocked;  // inherited: signals are the owner's
    try {
      helpers.emplace_back(help, &files, share, std::ref(board));
    } catch (const std::system_error& e) {
      const std::lock_guard lock(board.mutex);
      board.broken =
          sys_error(e.code().value(), "start a thread for a pin (RLIMIT_NPROC, pids.max)");
      board.stop.store(true);
    }
  }

  void start_all(const PinFiles& files) {
    const auto n = static_cast<std::size_t>(inode_helpers(files.count));
    for (std::size_t i = 0; i < n; ++i) {
      start(files, {files.count * i / n, files.count * (i + 1) / n});
    }
  }

  void wait_until_held(const PinFiles& files, const std::function<bool()>& stop,
                       const PinProgress& progress) {
    std::unique_lock lock(board.mutex);
    while (!board.changed.wait_for(lock, kLookEvery, [this] {
      return board.opened == helpers.size() && board.left.empty();
    })) {
      const std::vector<Share> left = std::exchange(board.left, {});
      lock.unlock();
      std::ranges::for_each(left, [&](Share share) { start(files, share); });
      if (stop && stop()) {
        board.stop.store(true);
      }
      if (progress) {
        progress(board.done.load(std::memory_order_relaxed));
      }
      lock.lock();
    }
  }

  void end() {
    {
      const std::lock_guard lock(board.mutex);
      board.let_go = true;
    }
    board.stop.store(true);
    board.changed.notify_all();
    for (std::thread& helper : helpers) {
      helper.join();
    }
    helpers.clear();
  }
};

Result<InodePin> InodePin::take(const PinFiles& files, const std::function<bool()>& stop,
                                const PinProgress& progress) {
  auto state = std::make_unique<State>();
  raise_descriptor_limit();
  if (files.count > 0) {
    state->witness = Fd(::open(files.path(0).c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  }
  state->start_all(files);
  state->wait_until_held(files, stop, progress);
  if (!state->board.broken) {
    return tl::unexpected(state->board.broken.error());
  }
  if ((stop && stop()) || state->board.stop.load()) {
    return fail("pinning was interrupted: nothing is pinned", Exit::interrupted);
  }
  state->board.count.helpers = state->helpers.size();
  return InodePin(std::move(state));
}

InodePin::InodePin(std::unique_ptr<State> state) : state_(std::move(state)) {}
InodePin::InodePin(InodePin&&) noexcept = default;
InodePin& InodePin::operator=(InodePin&&) noexcept = default;
InodePin::~InodePin() = default;
const PinCount& InodePin::count() const { return state_->board.count; }

}  // namespace blksweep
