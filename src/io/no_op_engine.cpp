#include "io/no_op_engine.h"

#include <algorithm>

#include "io/answered.h"
#include "io/plain_read.h"

namespace blksweep {
namespace {

class NoOpEngine final : public Engine {
 public:
  explicit NoOpEngine(const EngineSettings& settings) : done_(settings.depth) {
    facts_.name = to_string(EngineKind::no_op);
    facts_.depth = settings.depth;
  }

  const EngineFacts& facts() const override { return facts_; }
  Result<> set_files(std::uint32_t /*first_slot*/, std::span<Fd> /*fds*/) override { return {}; }

  Result<> submit(std::span<const ReadRequest> batch) override {
    for (const ReadRequest& r : batch) {
      done_.add({r.tag, static_cast<std::int32_t>(bytes_of(r))});
    }
    return {};
  }

  Result<std::size_t> reap(std::span<Completion> out, std::size_t /*wait_for*/,
                           std::int64_t /*until*/) override {
    return done_.take(out);
  }

 private:
  Answered done_;
  EngineFacts facts_;
};

}  // namespace

Result<std::unique_ptr<Engine>> make_no_op_engine(const EngineSettings& settings) {
  return std::unique_ptr<Engine>(std::make_unique<NoOpEngine>(settings));
}

}  // namespace blksweep
