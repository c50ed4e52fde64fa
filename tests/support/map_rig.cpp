#include "support/map_rig.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <memory>

#include "base/rng.h"
#include "map/plan.h"
#include "map/schedule.h"
#include "model/disk_model.h"

namespace blksweep {
namespace {

class ModelReader : public MapReader {
 public:
  explicit ModelReader(const MapRigSettings& s)
      : settings_(s), model_(make_model(s.model, {s.size}, s.seed)), rng_(s.seed, 0x401) {}

  std::int64_t now() override { return now_; }

  Result<> carry_out(const MapBatch& batch, std::int64_t until,
                     std::vector<MapRead>& out) override {
    std::vector<std::int64_t> begin(batch.steps.size()), end(batch.steps.size(), -1);
    std::size_t next = 0;
    std::size_t inside = 0;
    while (true) {
      while (next < batch.steps.size() && inside < batch.depth && now_ < until) {
        begin[next] = submit(batch.steps[next], next);
        ++next;
        ++inside;
      }
      if (inside == 0) {
        break;
      }
      inside -= reap(end);
    }
    for (std::size_t i = 0; i < next; ++i) {
      const MapStep& s = batch.steps[i];
      if (s.recorded) {
        out.push_back(
            {begin[i], end[i] - begin[i], s.offset, s.distance, s.bytes, batch.depth, batch.part});
      }
    }
    return {};
  }

 private:
  std::int64_t submit(const MapStep& step, std::size_t tag) {
    now_ += static_cast<std::int64_t>(step.pause * 9.5e6);
    const std::int64_t begin = now_;
    const double us = settings_.noise.least_us +
                      (settings_.noise.most_us - settings_.noise.least_us) * rng_.unit();
    // Half of what the host costs is spent before the device has the read.
    arrive_ = std::max(arrive_, now_ + static_cast<std::int64_t>(us * 500));
    done_noise_ = static_cast<std::int64_t>(us * 500);
    if (rng_.unit() < settings_.noise.outliers) {
      done_noise_ += static_cast<std::int64_t>(1e6 + 4e6 * rng_.unit());
    }
    late_[tag] = done_noise_;
    model_->arrive(arrive_, tag, {step.offset, step.bytes, false});
    return begin;
  }

  std::size_t reap(std::vector<std::int64_t>& end) {
    done_.clear();
    model_->advance(*model_->next(), done_);
    for (const DiskCompletion& c : done_) {
      arrive_ = std::max(arrive_, c.at_ns);
      end[c.tag] = c.at_ns + late_[c.tag];
      now_ = std::max(now_, end[c.tag]);
    }
    return done_.size();
  }

  const MapRigSettings& settings_;
  std::unique_ptr<DiskModel> model_;
  Rng rng_;
  std::int64_t now_ = 0, arrive_ = 0, done_noise_ = 0;
  std::map<std::uint64_t, std::int64_t> late_;
  std::vector<DiskCompletion> done_;
};

}  // namespace

LatencyMap map_of_model(const MapRigSettings& settings) {
  Result<MapPlan> plan = MapPlan::make({settings.size, 4096, settings.seed});
  assert(plan);
  ModelReader reader(settings);
  LatencyMap map;
  map.device = "model";
  map.size = settings.size;
  map.seed = settings.seed;
  MapSchedule schedule;
  schedule.shares = map_shares(settings.parts);
  schedule.time = Nanos(static_cast<std::int64_t>(settings.seconds * 1e9));
  [[maybe_unused]] const Result<> ran = run_map(*plan, reader, schedule, map.reads);
  assert(ran);
  return map;
}

ModelSpec test_disk(double speedup) {
  RotatingSpec s;
  s.rotation_ns = 60e9 / 7200 / speedup;
  s.seek_forward = *seek_curve(Nanos(600'000), Nanos(8'500'000), Nanos(16'000'000));
  for (SeekPoint& p : s.seek_forward) {
    p.ns /= speedup;
  }
  s.seek_backward = s.seek_forward;
  for (int zone = 0; zone < 16; ++zone) {
    s.zone_rates.push_back((180e6 - 90e6 * zone / 15) * speedup);
  }
  s.overhead_ns = 150e3 / speedup;
  s.interface_rate = 500e6 * speedup;
  s.queue = 32;
  s.cache_segments = 16;
  return {"test disk", "for tests", s};
}

ModelSpec test_flash() {
  FlashSpec s;
  s.read_ns = 60e3;
  s.write_ns = 200e3;
  s.channels = 8;
  s.overhead_ns = 20e3;
  s.link_rate = 520e6;
  s.queue = 32;
  return {"test flash", "for tests", s};
}

}  // namespace blksweep
