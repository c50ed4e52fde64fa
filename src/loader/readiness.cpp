#include "loader/readiness.h"

#include <numeric>

#include "loader/tracepoints.h"

namespace blksweep {

Readiness::Readiness(const Plan& plan, const Schedule& schedule, Handoff& handoff)
    : plan_(plan),
      schedule_(schedule),
      handoff_(handoff),
      batch_of_(plan.order.size()),
      pending_(schedule.batches()),
      failed_(plan.order.size()) {
  handoff_.times.assign(schedule.batches(), {});
  for (std::uint32_t b = 0; b < schedule.batches(); ++b) {
    for (std::uint32_t i = schedule.batch_begin[b]; i < schedule.batch_begin[b + 1]; ++i) {
      batch_of_[schedule.emission[i]] = b;
    }
  }
  if (!plan.parcel.empty()) {
    index_shared_parcels();
  }
  count_pending();
}

// All batches of an epoch but its last have one size.
std::uint32_t Readiness::batch_at(std::uint32_t emission) const {
  const std::uint32_t epoch = plan_.of_epoch();
  const auto batches = static_cast<std::uint32_t>(schedule_.batches() / plan_.epochs);
  const std::uint32_t batch = schedule_.batch_begin[1] - schedule_.batch_begin[0];
  return emission / epoch * batches + emission % epoch / batch;
}

void Readiness::index_shared_parcels() {
  parcel_begin_.resize(plan_.parcel_bytes.size() + 1);
  for (const std::uint32_t parcel : plan_.parcel) {
    ++parcel_begin_[parcel + 1];
  }
  std::partial_sum(parcel_begin_.begin(), parcel_begin_.end(), parcel_begin_.begin());
  parcel_positions_.resize(plan_.parcel.size());
  std::vector<std::uint32_t> at(parcel_begin_.begin(), parcel_begin_.end() - 1);
  for (std::uint32_t p = 0; p < plan_.parcel.size(); ++p) {
    parcel_positions_[at[plan_.parcel[p]]++] = p;
  }
}

void Readiness::count_pending() {
  for (const Piece& piece : plan_.pieces) {
    for_each_position(piece.parcel, [&](std::uint32_t p) {
      for_each_batch(p, [&](std::uint32_t b) { ++pending_[b]; });
    });
  }
}

void Readiness::submitted(const PieceRange& range, std::int64_t now) {
  for (std::uint32_t i = range.begin; i < range.end; ++i) {
    for_each_position(plan_.pieces[i].parcel, [&](std::uint32_t p) {
      for_each_batch(p, [&](std::uint32_t b) {
        if (auto& read = handoff_.times[b][Stage::read]; !read) {
          read = without_wait({now, now});
        }
      });
    });
  }
}

void Readiness::complete(const PieceRange& range, std::int64_t now) {
  for (std::uint32_t i = range.begin; i < range.end; ++i) {
    for_each_position(plan_.pieces[i].parcel, [&](std::uint32_t p) {
      for_each_batch(p, [&](std::uint32_t b) {
        if (--pending_[b] == 0) {
          auto& read = handoff_.times[b][Stage::read];
          read = without_wait({read ? read->begin : now, now});  // nothing submitted: of holes
        }
      });
    });
  }
}

void Readiness::fail(const PieceRange& range, int error, std::int64_t now) {
  for (std::uint32_t i = range.begin; i < range.end; ++i) {
    for_each_position(plan_.pieces[i].parcel, [&](std::uint32_t p) {
      if (failed_[p] == 0) {
        failed_[p] = 1;
        failures_.push_back({p, error});
      }
    });
  }
  complete(range, now);
}

bool Readiness::publish(std::int64_t now) {
  const std::uint32_t before = published_;
  while (published_ < pending_.size() && pending_[published_] == 0) {
    if (auto& read = handoff_.times[published_][Stage::read]; !read) {
      read = without_wait({now, now});  // a batch of empty samples
    }
    DTRACE_PROBE1(blksweep, batch_ready, published_);
    ++published_;
  }
  if (published_ != before) {
    handoff_.ready.publish(published_);
  }
  return published_ != before;
}

}  // namespace blksweep
