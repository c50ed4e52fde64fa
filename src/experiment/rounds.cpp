#include "experiment/rounds.h"

#include <span>

namespace blksweep {
namespace {

constexpr std::uint64_t kInterleaveStream = 0x17;
constexpr std::uint64_t kCeilingStream = 0xCE13;

}  // namespace

RoundDraw::RoundDraw(std::size_t cells, std::uint64_t seed, std::int64_t session_started_unix_ns,
                     bool ceilings)
    : cells_(cells),
      order_(seed, kInterleaveStream + static_cast<std::uint64_t>(session_started_unix_ns)),
      ceiling_(ceilings ? std::optional(Rng(seed, kCeilingStream)) : std::nullopt) {}

std::vector<RoundJob> RoundDraw::next(const std::function<bool(const RoundJob&)>& wanted) {
  std::vector<RoundJob> jobs;
  for (std::size_t c = 0; c < cells_; ++c) {
    jobs.push_back({c, round_});
  }
  shuffle(std::span(jobs), order_);
  std::erase_if(jobs, [&](const RoundJob& job) { return !wanted(job); });
  if (!jobs.empty() && ceiling_) {
    const std::uint64_t place = ceiling_->below(jobs.size() + 1);
    jobs.insert(jobs.begin() + static_cast<std::ptrdiff_t>(place), {0, round_, true});
  }
  ++round_;
  return jobs;
}

}  // namespace blksweep
