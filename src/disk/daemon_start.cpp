// The other side of the daemon: starts it and waits for its word.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <string>
#include <utility>

#include "disk/daemon.h"
#include "os/file/file.h"
#include "os/process/own_program.h"

namespace blksweep {
namespace {

constexpr int kReadyFd = 3;

struct Spawn {  // owns the two posix_spawn objects
  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
  Spawn() {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
  }
  Spawn(const Spawn&) = delete;
  Spawn& operator=(const Spawn&) = delete;
  ~Spawn() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
};

void describe(Spawn& s, const std::string& log, int ready) {
  ::posix_spawn_file_actions_addopen(&s.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&s.actions, STDERR_FILENO, log.c_str(),
                                     O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::posix_spawn_file_actions_adddup2(&s.actions, STDERR_FILENO, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&s.actions, ready, kReadyFd);
  ::posix_spawn_file_actions_addclosefrom_np(&s.actions, kReadyFd + 1);
  ::posix_spawn_file_actions_addchdir_np(&s.actions, "/");
  sigset_t none;
  sigset_t usual;
  sigemptyset(&none);
  sigemptyset(&usual);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
    sigaddset(&usual, number);
  }
  ::posix_spawnattr_setsigmask(&s.attributes, &none);
  ::posix_spawnattr_setsigdefault(&s.attributes, &usual);
  ::posix_spawnattr_setflags(&s.attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
}

// Its log goes with the disk that could not be started.
std::string last_words(const std::string& log) {
  std::string text = whole_text(log);
  while (text.ends_with('\n')) {
    text.pop_back();
  }
  return text.empty() ? "" : ": " + text.substr(text.rfind('\n') + 1);
}

// "ready", or an exit code and a text.
Result<> read_word(int fd, const std::string& log) {
  std::string word;
  std::array<char, 512> part{};
  for (ssize_t n = 0; (n = ::read(fd, part.data(), part.size())) != 0;) {
    if (n < 0 && errno != EINTR) {
      return sys_error(errno, "read what the daemon says");
    }
    word.append(part.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
  }
  if (word == "ready") {
    return {};
  }
  int code = 1;
  const auto [rest, ec] = std::from_chars(word.data(), word.data() + word.size(), code);
  if (ec != std::errc{}) {
    return fail("the daemon ended before it was ready" + last_words(log));
  }
  return fail(word.substr(word.find(' ') + 1), Exit{code});
}

}  // namespace

Result<> start_disk_daemon(const Registry& registry, const std::string& name) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return sys_error(errno, "pipe to the daemon");
  }
  const Fd read_end(ends[0]);
  // Above the number that it gets in the child: dup2 to itself would leave it close-on-exec.
  Fd write_end(::fcntl(ends[1], F_DUPFD_CLOEXEC, kReadyFd + 1));
  const int error = errno;
  ::close(ends[1]);
  if (!write_end) {
    return sys_error(error, "pipe to the daemon");
  }
  Spawn s;
  describe(s, registry.log_file(name), write_end.get());
  std::array<std::string, 5> words{"blksweep", "disk-daemon", name, "--ready-fd",
                                   std::to_string(kReadyFd)};
  std::array<char*, 6> argv{};
  for (std::size_t i = 0; i < words.size(); ++i) {
    argv[i] = words[i].data();
  }
  const std::string program = own_program().string();
  pid_t pid = 0;
  if (const int e =
          ::posix_spawn(&pid, program.c_str(), &s.actions, &s.attributes, argv.data(), environ);
      e != 0) {
    return sys_error(e, "start the daemon of disk " + name);
  }
  write_end.reset();
  return read_word(read_end.get(), registry.log_file(name));
}

}  // namespace blksweep
