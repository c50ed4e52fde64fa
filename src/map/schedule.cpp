#include "map/schedule.h"

#include <algorithm>
#include <array>
#include <limits>

namespace blksweep {
namespace {

// Distance has most: its two ends are estimated from extremes, which need many reads.
constexpr std::array<MapShare, 6> kUsual{{{MapPart::cached, 0.02, 20'000},
                                          {MapPart::distance, 0.56, 40'000},
                                          {MapPart::revisit, 0.10, 10'000},
                                          {MapPart::zone, 0.09, 8'000},
                                          {MapPart::depth, 0.16, 40'000},
                                          {MapPart::size, 0.07, 10'000}}};

struct PartAccount {
  MapShare share;
  std::int64_t quota = 0, used = 0;
  std::size_t reads = 0;

  bool over() const { return used >= quota || reads >= share.most_reads; }
  double progress() const { return static_cast<double>(used) / static_cast<double>(quota); }
};

class Run {
 public:
  Run(MapPlan& plan, MapReader& reader, const MapSchedule& schedule)
      : plan_(plan), reader_(reader), schedule_(schedule) {
    for (const MapShare& s : schedule.shares) {
      const double quota = s.share * static_cast<double>(schedule.time.count());
      accounts_.push_back({s, std::max<std::int64_t>(1, static_cast<std::int64_t>(quota)), 0, 0});
    }
  }

  Result<> all(std::vector<MapRead>& out) {
    const std::int64_t begin = reader_.now();
    while (PartAccount* a = furthest_behind()) {
      if (schedule_.stop && schedule_.stop()) {
        break;
      }
      BLKSWEEP_CHECK(batch(*a, out));
      if (schedule_.on_progress) {
        schedule_.on_progress(a->share.part, reader_.now() - begin);
      }
    }
    return {};
  }

 private:
  PartAccount* furthest_behind() {
    PartAccount* least = nullptr;
    for (PartAccount& a : accounts_) {
      if (!a.over() && (least == nullptr || a.progress() < least->progress())) {
        least = &a;
      }
    }
    return least;
  }

  Result<> batch(PartAccount& a, std::vector<MapRead>& out) {
    const MapBatch batch = plan_.next(a.share.part);
    const std::int64_t begin = reader_.now();
    const std::int64_t left = a.quota - a.used;
    if (batch.steps.empty()) {  // nothing of it is written: costs its turn, or would spin
      a.used += a.quota / 64 + 1;
      return {};
    }
    // A device that serves one at a time would take this long only to empty the queue.
    if (batch.depth > 2 && latency_ * batch.depth > left) {
      a.used += left / 8 + 1;
      return {};
    }
    const std::size_t before = out.size();
    BLKSWEEP_CHECK(reader_.carry_out(batch, begin + left, out));
    a.used += std::max<std::int64_t>(1, reader_.now() - begin);
    a.reads += out.size() - before;
    if (batch.depth == 1 && out.size() > before && a.share.part != MapPart::cached) {
      latency_ = out.back().latency_ns;
    }
    return {};
  }

  MapPlan& plan_;
  MapReader& reader_;
  const MapSchedule& schedule_;
  std::vector<PartAccount> accounts_;
  std::int64_t latency_ = 0;  // of a recent read at depth 1
};

}  // namespace

std::vector<MapShare> map_shares(const std::vector<MapPart>& parts) {
  std::vector<MapShare> out;
  double sum = 0;
  for (const MapShare& s : kUsual) {
    if (std::ranges::find(parts, s.part) != parts.end()) {
      out.push_back(s);
      sum += s.share;
    }
  }
  for (MapShare& s : out) {
    s.share /= sum;
  }
  return out;
}

Result<> run_map(MapPlan& plan, MapReader& reader, const MapSchedule& schedule,
                 std::vector<MapRead>& out) {
  return Run(plan, reader, schedule).all(out);
}

}  // namespace blksweep
