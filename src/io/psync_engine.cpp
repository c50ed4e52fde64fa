#include "io/psync_engine.h"

#include <algorithm>
#include <vector>

#include "io/answered.h"
#include "io/plain_read.h"

namespace blksweep {
namespace {

class PsyncEngine final : public Engine {
 public:
  explicit PsyncEngine(const EngineSettings& settings)
      : files_(settings.file_slots), done_(settings.depth) {
    facts_.name = to_string(EngineKind::psync);
    facts_.depth = 1;
  }

  const EngineFacts& facts() const override { return facts_; }

  Result<> set_files(std::uint32_t first_slot, std::span<Fd> fds) override {
    std::ranges::swap_ranges(fds, std::span(files_).subspan(first_slot, fds.size()));
    return {};
  }

  Result<> submit(std::span<const ReadRequest> batch) override {
    for (const ReadRequest& r : batch) {
      done_.add({r.tag, plain_read(files_[r.slot].get(), r)});
    }
    return {};
  }

  Result<std::size_t> reap(std::span<Completion> out, std::size_t /*wait_for*/,
                           std::int64_t /*until*/) override {
    return done_.take(out);
  }

 private:
  std::vector<Fd> files_;
  Answered done_;
  EngineFacts facts_;
};

}  // namespace

Result<std::unique_ptr<Engine>> make_psync_engine(const EngineSettings& settings) {
  return std::unique_ptr<Engine>(std::make_unique<PsyncEngine>(settings));
}

}  // namespace blksweep
