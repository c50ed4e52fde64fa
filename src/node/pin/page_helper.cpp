#include "node/pin/page_helper.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "node/pin/page_lock.h"
#include "os/process/signals.h"

namespace blksweep {

struct PageHelper::Board {
  std::atomic<std::uint64_t> done{0}, files{0}, failed{0}, bytes{0};
  std::atomic<std::uint64_t> first_failed{0}, ended_at{0};  // place in the share
  std::atomic<int> first_error{0}, error{0};
  std::atomic<bool> ready{false};
};

namespace {

static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "shared between processes");
constexpr int kLifeline = 3;

// Anonymous memory that is unmapped at the end: the names of a share, one after the other.
class Names {
 public:
  static Result<Names> of(const PinFiles& files, std::size_t begin, std::size_t end) {
    std::string all;
    for (std::size_t i = begin; i < end; ++i) {
      all += files.path(i);
      all.push_back('\0');
    }
    Names names;
    names.size_ = all.size() + 1;
    void* at =
        ::mmap(nullptr, names.size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) {
      return sys_error(errno, "memory for the names of a pin");
    }
    names.at_ = static_cast<char*>(std::memcpy(at, all.data(), all.size()));
    return names;
  }
  Names(Names&& o) noexcept : at_(std::exchange(o.at_, nullptr)), size_(o.size_) {}
  Names& operator=(Names&&) = delete;
  ~Names() { free(); }
  void free() {
    if (char* at = std::exchange(at_, nullptr); at != nullptr) {
      ::munmap(at, size_);
    }
  }
  const char* first() const { return at_; }

 private:
  Names() = default;
  char* at_ = nullptr;
  std::size_t size_ = 0;
};

const char* after(const char* name) { return name + std::strlen(name) + 1; }

// In the forked process, until its end: system calls only.
class Child final : public StopLook {
 public:
  Child(PageHelper::Board& board, std::size_t count) : board_(board), count_(count) {}

  // The pipe's end only ever becomes readable when the owner is gone.
  bool stop() override {
    pollfd look{kLifeline, POLLIN, 0};
    return ::poll(&look, 1, 0) > 0;
  }

  void lock_all(const char* name) {
    const char* ahead = name;
    for (std::size_t i = 0; i < count_ && i < kFilesAhead; ++i) {
      read_ahead(ahead);
      ahead = after(ahead);
    }
    for (std::size_t i = 0; i < count_; ++i, name = after(name)) {
      if (i + kFilesAhead < count_) {
        read_ahead(ahead);
        ahead = after(ahead);
      }
      if (!lock_one(i, name)) {
        return;
      }
    }
  }

 private:
  bool lock_one(std::size_t i, const char* name) {
    LockedFile file;
    const int error = lock_file(name, *this, file);
    if (error != 0 && is_out_of_memory(error)) {
      board_.ended_at.store(i);
      board_.error.store(error);
      return false;
    }
    if (error == 0) {
      board_.files.fetch_add(1);
      board_.bytes.fetch_add(file.length);
    } else if (board_.failed.fetch_add(1) == 0) {
      board_.first_failed.store(i);
      board_.first_error.store(error);
    }
    board_.done.fetch_add(1);
    return true;
  }

  PageHelper::Board& board_;
  std::size_t count_;
};

[[noreturn]] void be_helper(PageHelper::Board& board, int lifeline, Names& names,
                            std::size_t count) {
  ::prctl(PR_SET_NAME, "blksweep-pin");
  ::dup2(lifeline, kLifeline);
  ::syscall(SYS_close_range, kLifeline + 1, ~0U, 0);
  ::close(STDIN_FILENO);
  ::close(STDOUT_FILENO);
  Child child(board, count);
  child.lock_all(names.first());
  names.free();
  [[maybe_unused]] const int moved = ::chdir("/");
  // From here on the thread that forked may end, and only the process counts.
  ::prctl(PR_SET_PDEATHSIG, 0);
  board.ready.store(true);
  char byte = 0;
  while (::read(kLifeline, &byte, 1) < 0 && errno == EINTR) {
  }
  ::_exit(0);
}

Result<PageHelper::Board*> shared_board() {
  void* at = ::mmap(nullptr, sizeof(PageHelper::Board), PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) {
    return sys_error(errno, "memory for a helper of a pin");
  }
  return new (at) PageHelper::Board;
}

// fork with all signals blocked in the child, for good.
pid_t fork_blocked() {
  BlockedSignals blocked;
  const pid_t pid = ::fork();
  if (pid == 0) {
    blocked.keep();
  }
  return pid;
}

}  // namespace

Result<PageHelper> PageHelper::start(const PinFiles& files, std::size_t begin, std::size_t end) {
  PageHelper helper;
  helper.begin_ = begin;
  BLKSWEEP_TRY(helper.board_, shared_board());
  BLKSWEEP_TRY(Names names, Names::of(files, begin, end));
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return sys_error(errno, "pipe to a helper of a pin");
  }
  const Fd read_end(ends[0]);
  helper.lifeline_ = Fd(ends[1]);
  const pid_t owner = ::getpid();
  const pid_t pid = fork_blocked();
  if (pid < 0) {
    return sys_error(errno, "fork a helper of a pin");
  }
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != owner) {
      ::_exit(0);
    }
    be_helper(*helper.board_, read_end.get(), names, end - begin);
  }
  helper.pid_ = pid;
  return helper;
}

PageHelper::PageHelper(PageHelper&& o) noexcept
    : pid_(std::exchange(o.pid_, 0)),
      begin_(o.begin_),
      lifeline_(std::move(o.lifeline_)),
      board_(std::exchange(o.board_, nullptr)) {}

PageHelper::~PageHelper() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);  // not reaped yet, so the pid is its own
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (board_ != nullptr) {
    ::munmap(board_, sizeof(Board));
  }
}

std::uint64_t PageHelper::done() const { return board_->done.load(); }

bool PageHelper::lives() const {
  siginfo_t info{};
  return pid_ > 0 &&
         ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == 0;
}

std::optional<Result<PinCount>> PageHelper::result(const PinFiles& files) {
  if (!board_->ready.load()) {
    if (::waitpid(pid_, nullptr, WNOHANG) == pid_) {
      pid_ = 0;
      return fail("a helper process of the pin was killed (memory?): nothing is pinned");
    }
    return std::nullopt;
  }
  if (const int error = board_->error.load(); error != 0) {
    return lock_error(error, files.path(begin_ + board_->ended_at.load()));
  }
  PinCount count{.files = board_->files.load(),
                 .failed = board_->failed.load(),
                 .bytes = Bytes{board_->bytes.load()}};
  if (count.failed > 0) {
    count.first_error = sys_error(board_->first_error.load(),
                                  "pin " + files.path(begin_ + board_->first_failed.load()))
                            .value()
                            .text;
  }
  return count;
}

tl::unexpected<Error> lock_error(int error, const std::string& path) {
  rlimit limit{};
  if (error == EINTR) {
    return fail("pinning was interrupted: nothing is pinned", Exit::interrupted);
  }
  const bool limited = ::geteuid() != 0 && error != EACCES && error != ESTALE;
  if (!limited || ::getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return sys_error(error, "lock " + path);
  }
  return fail(fmt::format("lock {}: {}; RLIMIT_MEMLOCK is {}: raise it (ulimit -l), or run as root",
                          path, std::strerror(error), format_bytes({limit.rlim_cur})),
              Exit::unsupported);
}

}  // namespace blksweep
