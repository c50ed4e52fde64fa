#include "os/process/conversation.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/fd.h"
#include "os/process/fatal_end.h"
#include "os/process/spawn.h"

namespace blksweep {
namespace {

constexpr Nanos kLookEvery = std::chrono::milliseconds(100);
constexpr Nanos kGrace = std::chrono::seconds(1);
constexpr std::size_t kLongestLine = std::size_t{64} << 20;
constexpr std::size_t kMostOfErr = std::size_t{64} << 10;

// Orphans of descendants become children of this process while one lives.
class Adopting {
 public:
  Adopting() {
    ::prctl(PR_GET_CHILD_SUBREAPER, &before_);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  }
  Adopting(const Adopting&) = delete;
  Adopting& operator=(const Adopting&) = delete;
  ~Adopting() { ::prctl(PR_SET_CHILD_SUBREAPER, before_); }

 private:
  int before_ = 0;
};

// Ends a process group when we are killed, which nobody can tell us of: a shell reads from a pipe
// of ours until it is told that the group is over, and the end of the file is ours. What cannot be
// started here is no loss but in that case.
class Keeper {
 public:
  Keeper() {
    const Fd null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    Result<Pipe> pipe = make_pipe(OurEnd::write);
    if (!null || !pipe) {
      return;
    }
    ProcessSpec spec{
        .argv = {"sh", "-c", "read -r group && ! read -r over && kill -s KILL -- \"-$group\""}};
    spec.outlives_us = true;
    pid_ = spawn(spec, {.in = pipe->read_end.get(), .out = null.get(), .err = null.get()})
               .value_or(-1);
    to_ = std::move(pipe->write_end);
  }
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;
  ~Keeper() { let_go(); }

  void keep(pid_t group) { tell(std::to_string(group) + "\n"); }
  // Before the group's id may be somebody else's.
  void let_go() {
    if (pid_ > 0) {
      tell("over\n");
      to_.reset();
      while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
      }
      pid_ = -1;
    }
  }

 private:
  void tell(const std::string& line) const {
    [[maybe_unused]] const ssize_t n = ::write(to_.get(), line.data(), line.size());
  }

  pid_t pid_ = -1;
  Fd to_;
};

// What is there, but no more than one look should hold; closes the descriptor at end of file.
void take(Fd& fd, std::string& into) {
  std::array<char, 1 << 16> chunk{};
  for (int i = 0; fd && i < 16; ++i) {
    const ssize_t n = ::read(fd.get(), chunk.data(), chunk.size());
    if (n > 0) {
      into.append(chunk.data(), static_cast<std::size_t>(n));
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
      fd.reset();
    } else if (errno == EAGAIN) {
      return;
    }
  }
}

void keep_tail(std::string& text, std::size_t most) {
  if (text.size() > most) {
    text.erase(0, text.size() - most);
  }
}

}  // namespace

struct Conversation::State {
  Adopting adopting;
  Keeper keeper;
  std::set<pid_t> not_its_own;  // children of ours that were there before
  const std::atomic<bool>* interrupt = nullptr;
  pid_t pid = -1;
  Fd exit_event;  // pidfd; empty on kernels without it
  Fd in, out, err;
  std::string heard;     // of stdout
  std::size_t told = 0;  // of `heard`: was handed out
  std::int64_t begin_ns = 0;
  bool ended = false;  // and waited for
  Ended result;

  bool interrupted() const { return interrupt != nullptr && interrupt->load(); }
  // A zombie: its id is still ours.
  bool has_exited() const {
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT | WNOHANG) == 0 &&
           info.si_pid == pid;
  }
  void listen(Nanos patience);
  bool take_line(std::string& line);
  bool wait_for_exit(Nanos patience);
  std::vector<ChildProcess> strays() const;
  void sweep();
  void reap();
};

void Conversation::State::listen(Nanos patience) {
  const Nanos wait = std::clamp(patience, Nanos{0}, kLookEvery);
  std::array<pollfd, 3> look{pollfd{out.get(), POLLIN, 0}, pollfd{err.get(), POLLIN, 0},
                             pollfd{exit_event.get(), POLLIN, 0}};
  ::poll(look.data(), look.size(), static_cast<int>(wait.count() / 1'000'000 + 1));
  heard.erase(0, told);
  told = 0;
  take(out, heard);
  std::string said;
  take(err, said);
  result.process.err += said;
  keep_tail(result.process.err, kMostOfErr);
}

bool Conversation::State::take_line(std::string& line) {
  const std::size_t end = heard.find('\n', told);
  if (end == std::string::npos) {
    return false;
  }
  line = heard.substr(told, end - told);
  told = end + 1;
  return true;
}

bool Conversation::State::wait_for_exit(Nanos patience) {
  const std::int64_t until = now_ns() + patience.count();
  while (!has_exited()) {
    const std::int64_t left = until - now_ns();
    if (left <= 0) {
      return false;
    }
    listen(Nanos{left});
    told = heard.size();  // nobody asks any more
    if (!out && !err && !exit_event) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  return true;
}

std::vector<ChildProcess> Conversation::State::strays() const {
  std::vector<ChildProcess> found = own_children();
  std::erase_if(found,
                [&](const ChildProcess& c) { return c.pid == pid || not_its_own.contains(c.pid); });
  return found;
}

// What it left: each that is killed may leave children of its own, which come to us then.
void Conversation::State::sweep() {
  const std::int64_t until = now_ns() + kGrace.count();
  for (auto left = strays(); !left.empty() && now_ns() < until; left = strays()) {
    for (const ChildProcess& c : left) {
      ::kill(c.pid, SIGKILL);
      ::waitpid(c.pid, nullptr, WNOHANG);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

void Conversation::State::reap() {
  take_along(0);  // before its id is somebody else's
  keeper.let_go();
  int status = 0;
  rusage usage{};
  while (::wait4(pid, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  how_it_ended(result.process, status, usage);
  result.process.wall_ns = now_ns() - begin_ns;
  ended = true;
}

Conversation::Conversation(std::unique_ptr<State> state) : state_(std::move(state)) {}
Conversation::Conversation(Conversation&&) noexcept = default;

Conversation::~Conversation() {
  if (state_ && !state_->ended) {
    end(Nanos{0});
  }
}

Result<Conversation> Conversation::start(const ProcessSpec& spec) {
  auto state = std::make_unique<State>();
  for (const ChildProcess& c : own_children()) {
    state->not_its_own.insert(c.pid);
  }
  state->interrupt = spec.interrupt;
  BLKSWEEP_TRY(Pipe in, make_pipe(OurEnd::write));
  BLKSWEEP_TRY(Pipe out, make_pipe());
  BLKSWEEP_TRY(Pipe err, make_pipe());
  state->begin_ns = now_ns();
  BLKSWEEP_TRY(state->pid, spawn(spec, {.in = in.read_end.get(),
                                        .out = out.write_end.get(),
                                        .err = err.write_end.get()}));
  take_along(state->pid);
  state->keeper.keep(state->pid);
  state->exit_event.reset(static_cast<int>(::syscall(SYS_pidfd_open, state->pid, 0)));
  state->in = std::move(in.write_end);
  state->out = std::move(out.read_end);
  state->err = std::move(err.read_end);
  return Conversation(std::move(state));
}

Heard Conversation::next_line(Nanos patience) {
  Heard heard;
  const std::int64_t until = now_ns() + patience.count();
  for (bool gone = false; !state_->take_line(heard.line);) {
    const bool too_long = state_->heard.size() - state_->told > kLongestLine;
    if (gone || !state_->out || too_long) {
      heard.line = state_->heard.substr(state_->told);
      state_->told = state_->heard.size();
      heard.what = heard.line.empty() || too_long ? Heard::What::end : Heard::What::line;
      return heard;
    }
    if (state_->interrupted()) {
      heard.what = Heard::What::interrupt;
      return heard;
    }
    const std::int64_t left = until - now_ns();
    if (left <= 0) {
      return heard;
    }
    gone = state_->has_exited();  // then one more look: what it started may keep the pipe open
    state_->listen(gone ? Nanos{0} : Nanos{left});
  }
  heard.what = Heard::What::line;
  return heard;
}

Result<> Conversation::say(std::string_view text) {
  const ssize_t n = ::write(state_->in.get(), text.data(), text.size());
  return n == static_cast<ssize_t>(text.size()) ? Result<>() : sys_error(errno, "talk to a child");
}

Conversation::Ended Conversation::end(Nanos patience) {
  State& s = *state_;
  s.in.reset();
  bool by_itself = s.has_exited();
  for (const std::int64_t until = now_ns() + patience.count();
       !by_itself && now_ns() < until && !s.interrupted();) {
    by_itself = s.wait_for_exit(std::min(kLookEvery, Nanos{until - now_ns()}));
  }
  if (by_itself) {
    const std::vector<ChildProcess> left = s.strays();
    s.result.left_behind =
        static_cast<std::size_t>(std::ranges::count(left, false, &ChildProcess::ended));
  } else {
    ::kill(-s.pid, SIGTERM);
    s.wait_for_exit(kGrace);
  }
  ::kill(-s.pid, SIGKILL);  // its id is ours until reap()
  s.reap();
  s.sweep();
  s.listen(Nanos{0});
  s.result.process.timed_out = !by_itself && !s.interrupted();
  s.result.process.interrupted = !by_itself && s.interrupted();
  return std::move(s.result);
}

pid_t Conversation::pid() const { return state_->pid; }

TreeUse Conversation::use() const {
  if (state_->ended) {
    return {.read_bytes = std::nullopt, .called_bytes = std::nullopt};
  }
  std::vector<pid_t> roots{state_->pid};
  for (const ChildProcess& c : state_->strays()) {
    roots.push_back(c.pid);
  }
  return tree_use(roots);
}

}  // namespace blksweep
