#include "io/engine_trial.h"

#include <fcntl.h>
#include <liburing.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/memory.h"
#include "base/units.h"

namespace blksweep {
namespace {

constexpr const char* kAnyFolder = "/";
constexpr std::size_t kHalf = 2048;
constexpr Bytes kTrialBytes{std::uint64_t{2} * kPageBytes};

// A page to read that needs no file, no /proc and no right to write.
Result<Fd> page_in_memory() {
  Fd fd(::memfd_create("blksweep-trial", MFD_CLOEXEC));
  if (!fd || ::ftruncate(fd.get(), kPageBytes) != 0) {
    return sys_error(errno, "memfd_create");
  }
  return fd;
}

// One page as a read into one piece of memory (read_fixed), and again into two (readv).
Result<> read_twice(Engine& engine, std::span<std::byte> arena) {
  BLKSWEEP_TRY(Fd fd, page_in_memory());
  BLKSWEEP_CHECK(engine.set_files(0, {&fd, 1}));
  const std::array<iovec, 3> memory{iovec{arena.data(), kPageBytes},
                                    iovec{arena.data() + kPageBytes, kHalf},
                                    iovec{arena.data() + kPageBytes + kHalf, kHalf}};
  const std::array<ReadRequest, 2> requests{
      ReadRequest{.offset = 0, .iov = memory.data(), .iov_count = 1, .slot = 0, .tag = 0},
      ReadRequest{.offset = 0, .iov = memory.data() + 1, .iov_count = 2, .slot = 0, .tag = 1}};
  BLKSWEEP_CHECK(engine.submit(requests));
  std::array<Completion, 2> done{};
  for (std::size_t got = 0; got < done.size();) {
    BLKSWEEP_TRY(const std::size_t n, engine.reap(std::span(done).subspan(got), 1, kForever));
    got += n;
  }
  for (const Completion& c : done) {
    if (c.result != static_cast<std::int32_t>(kPageBytes)) {
      return sys_error(c.result < 0 ? -c.result : EIO, c.tag == 0 ? "read_fixed" : "readv");
    }
  }
  return {};
}

// 0, or the errno of opening a file through a ring.
int try_openat() {
  io_uring ring{};
  if (const int err = -io_uring_queue_init(2, &ring, 0); err != 0) {
    return err;
  }
  io_uring_prep_openat(io_uring_get_sqe(&ring), AT_FDCWD, kAnyFolder, O_RDONLY | O_CLOEXEC, 0);
  io_uring_cqe* cqe = nullptr;
  int result = io_uring_submit(&ring);
  if (result >= 0) {
    const int waited = io_uring_wait_cqe(&ring, &cqe);
    result = waited < 0 ? waited : cqe->res;
  }
  const Fd opened(result >= 0 ? result : -1);
  io_uring_queue_exit(&ring);
  return result < 0 ? -result : 0;
}

}  // namespace

Result<UringTrial> try_uring(const EngineSettings& settings) {
  BLKSWEEP_TRY(const std::unique_ptr<Engine> engine, make_engine(EngineKind::io_uring, settings));
  UringTrial trial;
  trial.facts = engine->facts();
  if (const Result<> read = read_twice(*engine, settings.arena); !read) {
    trial.reads_refuse = read.error().message();
  }
  if (const int err = try_openat(); err != 0) {
    trial.open_refuses = std::strerror(err);
  }
  return trial;
}

Result<> try_reads(EngineKind kind, const EngineSettings& settings) {
  BLKSWEEP_TRY(const std::unique_ptr<Engine> engine, make_engine(kind, settings));
  return kind == EngineKind::uring_iopoll ? Result<>() : read_twice(*engine, settings.arena);
}

std::string engine_refusal(EngineKind kind, unsigned depth) {
  Result<PageBuffer> memory = PageBuffer::allocate(kTrialBytes);
  if (!memory) {
    return "";  // the run says it better
  }
  const auto tried = try_reads(kind, {.depth = depth, .file_slots = 1, .arena = memory->span()});
  const bool passes =
      tried || tried.error().sys_errno == EMFILE || tried.error().sys_errno == ENFILE;
  return passes ? "" : tried.error().message();
}

std::string ring_refusal(unsigned depth) {
  const std::string text = engine_refusal(EngineKind::io_uring, depth);
  return text.substr(0, text.find(" (use "));
}

}  // namespace blksweep
