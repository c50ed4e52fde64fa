#include "io/psync_engine.h"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "io/answered.h"

namespace blksweep {
namespace {

class PsyncEngine final : public Engine {
 public:
  explicit PsyncEngine(const EngineSettings& settings)
      : files_(settings.file_slots), done_(settings.depth) {
    facts_.name = "psync";
    facts_.depth = 1;
  }

  const EngineFacts& facts() const override { return facts_; }

  Result<> set_files(std::uint32_t first_slot, std::span<Fd> fds) override {
    std::ranges::move(fds, files_.begin() + first_slot);
    return {};
  }

  Result<> submit(std::span<const ReadRequest> batch) override {
    for (const ReadRequest& r : batch) {
      done_.add({r.tag, carry_out(r)});
    }
    return {};
  }

  Result<std::size_t> reap(std::span<Completion> out, std::size_t /*wait_for*/,
                           std::int64_t /*until*/) override {
    return done_.take(out);
  }

 private:
  std::int32_t carry_out(const ReadRequest& r) const {
    const auto call = r.write ? ::pwritev : ::preadv;
    for (;;) {
      const ssize_t n = call(files_[r.slot].get(), r.iov, static_cast<int>(r.iov_count),
                             static_cast<off_t>(r.offset));
      if (n >= 0) {
        return static_cast<std::int32_t>(n);
      }
      if (errno != EINTR) {
        return -errno;
      }
    }
  }

  std::vector<Fd> files_;
  Answered done_;
  EngineFacts facts_;
};

}  // namespace

Result<std::unique_ptr<Engine>> make_psync_engine(const EngineSettings& settings) {
  return std::unique_ptr<Engine>(std::make_unique<PsyncEngine>(settings));
}

}  // namespace blksweep
