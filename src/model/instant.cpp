#include "model/instant.h"

#include "model/due.h"

namespace blksweep {
namespace {

class Instant final : public DiskModel {
 public:
  void arrive(std::int64_t now, std::uint64_t tag, const DiskRequest& /*request*/) override {
    due_.add(static_cast<double>(now), tag);
  }
  std::optional<std::int64_t> next() const override { return due_.next(); }
  void advance(std::int64_t now, std::vector<DiskCompletion>& done) override {
    while (!due_.empty() && *due_.next() <= now) {
      done.push_back(due_.pop());
    }
  }

 private:
  Due due_;
};

}  // namespace

std::unique_ptr<DiskModel> make_instant() { return std::make_unique<Instant>(); }

}  // namespace blksweep
