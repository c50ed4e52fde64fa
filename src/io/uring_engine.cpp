#include "io/uring_engine.h"

#include <liburing.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/clock.h"

namespace blksweep {
namespace {

// The kernel takes registered buffers of at most 1 GiB each (io_uring_register_buffers(3)).
constexpr std::size_t kBufferBytes = std::size_t{1} << 30;

// Short of memory the kernel may say EAGAIN for a while; so often in a row it will not end.
constexpr unsigned kMostRefusals = 1U << 20;

struct RingFlags {
  unsigned bits;
  const char* name;
};
// Best first; an older kernel refuses a flag that it does not know with EINVAL, so trying is the
// only honest test. DEFER_TASKRUN (6.1) needs SINGLE_ISSUER (6.0).
constexpr std::array kPlain{
    RingFlags{IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
              "single_issuer defer_taskrun"},
    RingFlags{IORING_SETUP_COOP_TASKRUN, "coop_taskrun"},
    RingFlags{0, ""},
};
// With a thread that submits there is no task of ours to run completions in.
constexpr std::array kSqpoll{
    RingFlags{IORING_SETUP_SQPOLL | IORING_SETUP_SINGLE_ISSUER, "sqpoll single_issuer"},
    RingFlags{IORING_SETUP_SQPOLL, "sqpoll"},
};
constexpr std::array kIopoll{
    RingFlags{IORING_SETUP_IOPOLL | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
              "iopoll single_issuer defer_taskrun"},
    RingFlags{IORING_SETUP_IOPOLL, "iopoll"},
};

struct RingKind {
  EngineKind kind;
  std::span<const RingFlags> flag_sets;
};

class UringEngine final : public Engine {
 public:
  static Result<std::unique_ptr<Engine>> open(const EngineSettings& settings, const RingKind& kind);
  UringEngine(const UringEngine&) = delete;
  UringEngine& operator=(const UringEngine&) = delete;
  ~UringEngine() override;

  const EngineFacts& facts() const override { return facts_; }
  Result<> set_files(std::uint32_t first_slot, std::span<Fd> fds) override;
  Result<> submit(std::span<const ReadRequest> batch) override;
  Result<std::size_t> reap(std::span<Completion> out, std::size_t wait_for,
                           std::int64_t until) override;

 private:
  explicit UringEngine(const EngineSettings& settings)
      : arena_(settings.arena),
        one_request_(settings.one_request),
        plain_files_(settings.file_slots) {}
  Result<> open_ring(unsigned depth, std::span<const RingFlags> flag_sets);
  void register_files(unsigned slots);
  void register_arena();
  void refused(const std::string& what, int err);
  void got(const char* feature);
  void prepare(io_uring_sqe* sqe, const ReadRequest& r);
  int fixed_buffer_of(const iovec& v) const;
  Result<> flush(unsigned wait_for);
  Result<> flush_and_wait_until_taken();
  bool polled_by_kernel() const { return (ring_.flags & IORING_SETUP_SQPOLL) != 0; }
  int wait_for_completions(unsigned n, std::int64_t until);

  io_uring ring_{};
  bool open_ = false;
  bool fixed_files_ = false;
  bool fixed_buffers_ = false;
  std::size_t in_flight_ = 0;
  std::span<std::byte> arena_;
  RequestLimits one_request_;
  std::vector<Fd> plain_files_;  // where they are not registered
  std::vector<int> update_;      // scratch of set_files
  EngineFacts facts_;
};

void UringEngine::refused(const std::string& what, int err) {
  facts_.refused += (facts_.refused.empty() ? "" : "; ") + what + ": " + std::strerror(err);
}

void UringEngine::got(const char* feature) {
  facts_.features += (facts_.features.empty() || *feature == '\0' ? "" : " ");
  facts_.features += feature;
}

Result<> UringEngine::open_ring(unsigned depth, std::span<const RingFlags> flag_sets) {
  int err = 0;
  for (const RingFlags& flags : flag_sets) {
    err = -io_uring_queue_init(depth, &ring_, flags.bits);
    if (err == 0) {
      open_ = true;
      got(flags.name);
      return {};
    }
    refused(*flags.name == '\0' ? "plain ring" : flags.name, err);
    if (err != EINVAL) {
      break;  // not a question of flags
    }
  }
  return tl::unexpected(Error{"io_uring_queue_init depth=" + std::to_string(depth) + ": " +
                                  std::strerror(err) + " (use --engine psync)",
                              err, Exit::unsupported});
}

void UringEngine::register_files(unsigned slots) {
  if (const int err = -io_uring_register_files_sparse(&ring_, slots); err != 0) {
    refused("fixed_files", err);
    return;
  }
  fixed_files_ = true;
  got("fixed_files");
}

void UringEngine::register_arena() {
  std::vector<iovec> parts;
  for (std::size_t at = 0; at < arena_.size(); at += kBufferBytes) {
    parts.push_back({arena_.data() + at, std::min(kBufferBytes, arena_.size() - at)});
  }
  if (parts.empty()) {
    return;
  }
  const int err =
      -io_uring_register_buffers(&ring_, parts.data(), static_cast<unsigned>(parts.size()));
  if (err != 0) {
    refused("fixed_buffers", err);
    return;
  }
  fixed_buffers_ = true;
  got("fixed_buffers");
}

Result<std::unique_ptr<Engine>> UringEngine::open(const EngineSettings& settings,
                                                  const RingKind& kind) {
  std::unique_ptr<UringEngine> engine(new UringEngine(settings));
  BLKSWEEP_CHECK(engine->open_ring(settings.depth, kind.flag_sets));
  if (settings.registers_files) {
    engine->register_files(settings.file_slots);
  }
  engine->register_arena();
  engine->update_.resize(settings.file_slots);
  engine->facts_.name = to_string(kind.kind);
  engine->facts_.depth = settings.depth;
  return std::unique_ptr<Engine>(std::move(engine));
}

UringEngine::~UringEngine() {
  if (!open_) {
    return;
  }
  std::array<Completion, 64> sink{};
  while (in_flight_ > 0) {
    const auto n = reap(sink, 1, kForever);
    if (!n) {
      break;  // the ring itself is broken: exiting it cancels what is left
    }
  }
  // The kernel takes a ring down some time after this: files that it still held would keep their
  // folders in memory when the next run drops the caches.
  if (fixed_files_) {
    io_uring_unregister_files(&ring_);
  }
  io_uring_queue_exit(&ring_);
}

Result<> UringEngine::set_files(std::uint32_t first_slot, std::span<Fd> fds) {
  BLKSWEEP_CHECK(flush_and_wait_until_taken());
  if (!fixed_files_) {
    std::ranges::swap_ranges(fds, std::span(plain_files_).subspan(first_slot, fds.size()));
    return {};
  }
  std::ranges::transform(fds, update_.begin(), [](const Fd& fd) { return fd.get(); });
  const int n = io_uring_register_files_update(&ring_, first_slot, update_.data(),
                                               static_cast<unsigned>(fds.size()));
  return n < 0 ? sys_error(-n, "io_uring_register_files_update") : Result<>();
}

int UringEngine::fixed_buffer_of(const iovec& v) const {
  const auto* at = static_cast<const std::byte*>(v.iov_base);
  if (!fixed_buffers_ || at < arena_.data() || at >= arena_.data() + arena_.size()) {
    return -1;
  }
  const auto begin = static_cast<std::size_t>(at - arena_.data());
  const std::size_t index = begin / kBufferBytes;
  return (begin + v.iov_len - 1) / kBufferBytes == index ? static_cast<int>(index) : -1;
}

void UringEngine::prepare(io_uring_sqe* sqe, const ReadRequest& r) {
  const int fd = fixed_files_ ? static_cast<int>(r.slot) : plain_files_[r.slot].get();
  const int buffer = r.iov_count == 1 ? fixed_buffer_of(*r.iov) : -1;
  if (buffer >= 0) {
    const auto length = static_cast<unsigned>(r.iov->iov_len);
    r.write ? io_uring_prep_write_fixed(sqe, fd, r.iov->iov_base, length, r.offset, buffer)
            : io_uring_prep_read_fixed(sqe, fd, r.iov->iov_base, length, r.offset, buffer);
  } else {
    r.write ? io_uring_prep_writev(sqe, fd, r.iov, r.iov_count, r.offset)
            : io_uring_prep_readv(sqe, fd, r.iov, r.iov_count, r.offset);
  }
  const bool splits = may_split({r.iov, r.iov_count}, one_request_);
  io_uring_sqe_set_flags(sqe, (fixed_files_ ? IOSQE_FIXED_FILE : 0U) | (splits ? IOSQE_ASYNC : 0U));
  io_uring_sqe_set_data64(sqe, r.tag);
}

// Hands over what is prepared; the same system call waits, unless a signal comes between. A thread
// of the kernel is told, and takes it when it runs.
Result<> UringEngine::flush(unsigned wait_for) {
  for (unsigned refusals = 0; io_uring_sq_ready(&ring_) > 0;) {
    const int n = io_uring_submit_and_wait(&ring_, wait_for);
    const bool passing = n >= 0 || n == -EINTR || n == -EAGAIN || n == -EBUSY;
    refusals = n > 0 ? 0 : refusals + 1;
    if (!passing || refusals > kMostRefusals) {
      return sys_error(n < 0 ? -n : EBUSY, "io_uring_enter");
    }
    if (polled_by_kernel() && n >= 0) {  // else that thread may not have been woken
      break;
    }
  }
  return {};
}

// Files of slots are looked up, and entries free, once that thread has taken them.
Result<> UringEngine::flush_and_wait_until_taken() {
  BLKSWEEP_CHECK(flush(0));
  while (io_uring_sq_ready(&ring_) > 0) {
    ::sched_yield();
    BLKSWEEP_CHECK(flush(0));
  }
  return {};
}

Result<> UringEngine::submit(std::span<const ReadRequest> batch) {
  for (const ReadRequest& r : batch) {
    io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
    if (sqe == nullptr) {
      BLKSWEEP_CHECK(flush_and_wait_until_taken());
      sqe = io_uring_get_sqe(&ring_);
    }
    if (sqe == nullptr) {
      return fail("io_uring: no submission entry after a flush");
    }
    prepare(sqe, r);
    ++in_flight_;
  }
  return {};
}

// 0 or an errno; ETIME: not all of them came until then.
int UringEngine::wait_for_completions(unsigned n, std::int64_t until) {
  io_uring_cqe* first = nullptr;
  if (n == 0 || until == kForever) {
    return n == 0 ? -io_uring_get_events(&ring_) : -io_uring_wait_cqe_nr(&ring_, &first, n);
  }
  const std::int64_t left = std::max<std::int64_t>(0, until - now_ns());
  __kernel_timespec t{.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
  return -io_uring_wait_cqes(&ring_, &first, n, &t, nullptr);
}

Result<std::size_t> UringEngine::reap(std::span<Completion> out, std::size_t wait_for,
                                      std::int64_t until) {
  const auto want = static_cast<unsigned>(std::min({wait_for, out.size(), in_flight_}));
  BLKSWEEP_CHECK(flush(until == kForever ? want : 0));
  if (out.empty()) {
    return 0;  // was asked to hand over, no more
  }
  const int err = wait_for_completions(want, until);
  if (err != 0 && err != EINTR && err != EAGAIN && err != ETIME) {
    return sys_error(err, "io_uring_enter");
  }
  std::size_t n = 0;
  unsigned head = 0;
  io_uring_cqe* cqe = nullptr;
  io_uring_for_each_cqe(&ring_, head, cqe) {
    if (n == out.size()) {
      break;
    }
    out[n++] = {static_cast<std::uint32_t>(cqe->user_data), cqe->res};
  }
  io_uring_cq_advance(&ring_, static_cast<unsigned>(n));
  in_flight_ -= n;
  return n;
}

}  // namespace

Result<std::unique_ptr<Engine>> make_uring_engine(const EngineSettings& settings) {
  return UringEngine::open(settings, {EngineKind::io_uring, kPlain});
}
Result<std::unique_ptr<Engine>> make_sqpoll_engine(const EngineSettings& settings) {
  return UringEngine::open(settings, {EngineKind::uring_sqpoll, kSqpoll});
}
Result<std::unique_ptr<Engine>> make_iopoll_engine(const EngineSettings& settings) {
  return UringEngine::open(settings, {EngineKind::uring_iopoll, kIopoll});
}

}  // namespace blksweep
