#include "io/libaio_engine.h"

#include <libaio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/clock.h"
#include "io/answered.h"

namespace blksweep {
namespace {

class LibaioEngine final : public Engine {
 public:
  static Result<std::unique_ptr<Engine>> open(const EngineSettings& settings);
  LibaioEngine(const LibaioEngine&) = delete;
  LibaioEngine& operator=(const LibaioEngine&) = delete;
  ~LibaioEngine() override;

  const EngineFacts& facts() const override { return facts_; }
  EngineCounts own_counts() const override {
    EngineCounts counts;
    counts.submit_ns = submit_ns_;
    counts.submit_blocked_ns = std::max<std::int64_t>(0, submit_ns_ - submit_cpu_ns_);
    return counts;
  }
  Result<> set_files(std::uint32_t first_slot, std::span<Fd> fds) override {
    std::ranges::swap_ranges(
        fds, std::span(files_).subspan(first_slot, fds.size()));  // a read holds its file itself
    return {};
  }
  Result<> submit(std::span<const ReadRequest> batch) override;
  Result<std::size_t> reap(std::span<Completion> out, std::size_t wait_for,
                           std::int64_t until) override;

 private:
  explicit LibaioEngine(const EngineSettings& settings)
      : files_(settings.file_slots), events_(settings.depth), refused_(settings.depth) {
    calls_.reserve(settings.depth);
    pointers_.reserve(settings.depth);
  }
  void prepare(const ReadRequest& r);
  int hand_over(std::span<iocb*> calls);
  int wait(long least, long most, std::int64_t until);

  io_context_t context_ = nullptr;
  std::size_t in_flight_ = 0;  // with the kernel
  std::int64_t submit_ns_ = 0, submit_cpu_ns_ = 0;
  std::vector<Fd> files_;
  std::vector<iocb> calls_;      // of one submission: the kernel copies them
  std::vector<iocb*> pointers_;  // to calls_
  std::vector<io_event> events_;
  Answered refused_;  // that the kernel did not take
  EngineFacts facts_;
};

Result<std::unique_ptr<Engine>> LibaioEngine::open(const EngineSettings& settings) {
  io_context_t context = nullptr;  // first of all: a depth that is refused costs no memory
  if (const int err = -::io_setup(static_cast<int>(settings.depth), &context); err != 0) {
    const char* way_out = err == EAGAIN ? "raise fs.aio-max-nr, or use --engine io_uring"
                                        : "use --engine io_uring or psync";
    return tl::unexpected(Error{"io_setup depth=" + std::to_string(settings.depth) + ": " +
                                    std::strerror(err) + " (" + way_out + ")",
                                err, Exit::unsupported});
  }
  std::unique_ptr<LibaioEngine> engine(new LibaioEngine(settings));
  engine->context_ = context;
  engine->facts_.name = to_string(EngineKind::libaio);
  engine->facts_.depth = settings.depth;
  return std::unique_ptr<Engine>(std::move(engine));
}

LibaioEngine::~LibaioEngine() {
  if (context_ != nullptr) {
    ::io_destroy(context_);  // waits for what is in flight
  }
}

void LibaioEngine::prepare(const ReadRequest& r) {
  iocb& call = calls_.emplace_back();
  const int fd = files_[r.slot].get();
  const auto offset = static_cast<long long>(r.offset);
  const auto count = static_cast<int>(r.iov_count);
  r.write ? ::io_prep_pwritev(&call, fd, r.iov, count, offset)
          : ::io_prep_preadv(&call, fd, r.iov, count, offset);
  call.data = reinterpret_cast<void*>(std::uintptr_t{r.tag});  // NOLINT: comes back as it is
  pointers_.push_back(&call);
}

// How many the kernel took, or -errno of the first.
int LibaioEngine::hand_over(std::span<iocb*> calls) {
  const std::int64_t begin = now_ns();
  const std::int64_t cpu_begin = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
  const int n = ::io_submit(context_, static_cast<long>(calls.size()), calls.data());
  submit_cpu_ns_ += cpu_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_begin;
  submit_ns_ += now_ns() - begin;
  return n;
}

// Stops at the first that is refused (a descriptor that is none, say): that one has failed alone.
Result<> LibaioEngine::submit(std::span<const ReadRequest> batch) {
  calls_.clear();
  pointers_.clear();
  calls_.reserve(batch.size());  // as many as the depth: nothing is allocated
  for (const ReadRequest& r : batch) {
    prepare(r);
  }
  for (std::size_t at = 0; at < batch.size();) {
    const int n = hand_over(std::span(pointers_).subspan(at));
    if (n == -ENOSYS || n == -EFAULT || n == -EPERM) {
      return sys_error(-n, "io_submit");
    }
    if (n < 0) {
      refused_.add({batch[at].tag, n});
    }
    in_flight_ += n > 0 ? static_cast<std::size_t>(n) : 0;
    at += n > 0 ? static_cast<std::size_t>(n) : 1;
  }
  return {};
}

// As io_getevents(2), or -errno.
int LibaioEngine::wait(long least, long most, std::int64_t until) {
  if (until == kForever) {
    return ::io_getevents(context_, least, most, events_.data(), nullptr);
  }
  const std::int64_t left = std::max<std::int64_t>(0, until - now_ns());
  timespec t{.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
  return ::io_getevents(context_, least, most, events_.data(), &t);
}

Result<std::size_t> LibaioEngine::reap(std::span<Completion> out, std::size_t wait_for,
                                       std::int64_t until) {
  const std::size_t told = refused_.take(out);
  out = out.subspan(told);
  const std::size_t most = std::min({out.size(), in_flight_, events_.size()});
  if (most == 0) {
    return told;
  }
  const std::size_t least = std::min(wait_for - std::min(wait_for, told), most);
  const int n = wait(static_cast<long>(least), static_cast<long>(most), until);
  if (n < 0 && n != -EINTR) {
    return sys_error(-n, "io_getevents");
  }
  const std::size_t got = n > 0 ? static_cast<std::size_t>(n) : 0;
  std::transform(events_.begin(), events_.begin() + static_cast<std::ptrdiff_t>(got), out.begin(),
                 [](const io_event& e) {
                   return Completion{
                       static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(e.data)),
                       static_cast<std::int32_t>(static_cast<std::int64_t>(e.res))};
                 });
  in_flight_ -= got;
  return told + got;
}

}  // namespace

Result<std::unique_ptr<Engine>> make_libaio_engine(const EngineSettings& settings) {
  return LibaioEngine::open(settings);
}

}  // namespace blksweep
