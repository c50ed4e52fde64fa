#include "disk/pacing.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace blksweep {

Pacing::Pacing(std::unique_ptr<DiskModel> model, const PacingClock& clock)
    : model_(std::move(model)), clock_(clock) {}

std::int64_t Pacing::to_virtual(std::int64_t real_ns) const {
  return std::llround(static_cast<double>(real_ns - clock_.start_ns) * clock_.speedup);
}

// Rounded up: at the real time it gives, the virtual time has been reached.
std::int64_t Pacing::reply_at(std::int64_t virtual_ns) const {
  const double real = std::ceil(static_cast<double>(virtual_ns) / clock_.speedup);
  return clock_.start_ns + static_cast<std::int64_t>(real) - clock_.path_ns / 2;
}

void Pacing::arrive(std::int64_t real_ns, std::uint64_t tag, const DiskRequest& request) {
  model_now_ = std::max(model_now_, to_virtual(real_ns - clock_.path_ns / 2));
  arrived_[tag] = model_now_;
  model_->arrive(model_now_, tag, request);
}

std::optional<std::int64_t> Pacing::next_reply() const {
  const std::optional<std::int64_t> next = model_->next();
  return next ? std::optional(reply_at(*next)) : std::nullopt;
}

void Pacing::take_due(std::int64_t real_ns, std::vector<DueReply>& out) {
  for (auto next = model_->next(); next && reply_at(*next) <= real_ns; next = model_->next()) {
    model_now_ = std::max(model_now_, *next);
    done_.clear();
    model_->advance(model_now_, done_);
    for (const DiskCompletion& c : done_) {
      const auto arrived = arrived_.find(c.tag);
      const std::int64_t from = arrived == arrived_.end() ? c.at_ns : arrived->second;
      out.push_back({c.tag, reply_at(c.at_ns), c.at_ns - from});
      arrived_.erase(c.tag);
    }
    if (done_.empty()) {
      return;  // a model that promises and does not keep must not hang the daemon
    }
  }
}

}  // namespace blksweep
