#include "model/remote.h"

#include <algorithm>
#include <cmath>

#include "base/rng.h"
#include "model/admission.h"

namespace blksweep {
namespace {

class Remote final : public DiskModel {
 public:
  Remote(const RemoteSpec& spec, std::uint64_t seed)
      : spec_(spec), admission_(spec.queue), rng_(seed) {}

  void arrive(std::int64_t now, std::uint64_t tag, const DiskRequest& request) override {
    run(now);
    if (admission_.admit(tag, request)) {
      enter(now, tag, request);
    }
  }

  std::optional<std::int64_t> next() const override { return admission_.next(); }

  void advance(std::int64_t now, std::vector<DiskCompletion>& done) override {
    run(now);
    admission_.take(done);
  }

 private:
  void run(std::int64_t now) {
    while (admission_.next_finish() && *admission_.next_finish() <= now) {
      const std::int64_t at = *admission_.next_finish();
      if (const auto entering = admission_.leave()) {
        enter(at, entering->tag, entering->request);
      }
    }
  }

  // The way there takes the same time for all, so server and link serve in the order of entry and
  // the whole journey is known at once.
  void enter(std::int64_t at, std::uint64_t tag, const DiskRequest& r) {
    const double half = spec_.round_trip_ns / 2;
    server_free_ = std::max(static_cast<double>(at) + half, server_free_) + spec_.request_ns;
    link_free_ = std::max(server_free_, link_free_) + r.bytes * 1e9 / spec_.link_rate;
    const double trip = spec_.round_trip_ns * std::exp(spec_.jitter * rng_.normal());
    admission_.finish(link_free_ + std::max(0.0, trip - half), tag);
  }

  RemoteSpec spec_;
  Admission admission_;
  Rng rng_;
  double server_free_ = 0, link_free_ = 0;
};

}  // namespace

std::unique_ptr<DiskModel> make_remote(const RemoteSpec& spec, std::uint64_t seed) {
  return std::make_unique<Remote>(spec, seed);
}

}  // namespace blksweep
