#include "lab/delivery.h"

#include <xxhash.h>

#include <algorithm>

#include "base/clock.h"

namespace blksweep {
namespace {

std::size_t largest_batch(const Schedule& s) {
  std::size_t most = 0;
  for (std::size_t b = 0; b < s.batches(); ++b) {
    most = std::max<std::size_t>(most, s.batch_begin[b + 1] - s.batch_begin[b]);
  }
  return most;
}

}  // namespace

Delivery::Delivery(const DeliveryInputs& in) : in_(in), times_(in.schedule.batches()) {
  delivered_.reserve(in.schedule.emission.size());
  hashes_.reserve(in.verify ? in.schedule.emission.size() : 0);
  copy_parts_.reserve(largest_batch(in.schedule));
  record_parts_.reserve(largest_batch(in.schedule));
}

Delivery::~Delivery() {
  in_.handoff.request_stop();
  for (std::thread* t : {&copier_, &consumer_}) {
    if (t->joinable()) {
      t->join();
    }
  }
}

void Delivery::start() {
  if (in_.copy != nullptr) {
    copier_ = std::thread([this] { copy_loop(); });
  }
  if (threaded()) {
    consumer_ = std::thread([this] { consume_loop(); });
  }
}

void Delivery::on_ready() {
  if (!threaded()) {
    while (consumed_ < in_.handoff.ready.value()) {
      consume(consumed_++);
    }
  }
}

void Delivery::gather(std::uint32_t batch, std::vector<BatchPart>& parts) const {
  parts.clear();
  for (std::uint32_t i = in_.schedule.batch_begin[batch]; i < in_.schedule.batch_begin[batch + 1];
       ++i) {
    const std::uint32_t p = in_.schedule.emission[i];
    if (in_.failed[p] == 0) {
      const std::uint64_t at =
          std::uint64_t{in_.schedule.slot[in_.plan.parcel_of(p)]} * kSlotUnit + in_.plan.head[p];
      parts.push_back({in_.arena.data() + at, in_.catalog.sample(in_.plan.order[p]).length});
    }
  }
}

void Delivery::copy_loop() {
  take_place(in_.binding, Role::copy);
  for (std::uint32_t b = 0; b < in_.schedule.batches(); ++b) {
    const std::uint32_t reused = b < in_.staging_slots ? 0 : b - in_.staging_slots + 1;
    if (!in_.handoff.ready.wait_for(b + 1) || !wait_for_slot(b, reused)) {
      return;
    }
    times_[b].staging_begin_ns = times_[b].copy_begin_ns = now_ns();
    gather(b, copy_parts_);
    if (Result<> copied = in_.copy->copy(b, copy_parts_); !copied) {
      error_ = copied.error();
      in_.handoff.request_stop();
      return;
    }
    times_[b].copy_end_ns = now_ns();
    in_.handoff.copied.publish(b + 1);
  }
}

bool Delivery::wait_for_slot(std::uint32_t batch, std::uint32_t reused) {
  if (in_.handoff.consumed.value() < reused) {
    times_[batch].slot_wait_begin_ns = now_ns();
  }
  return in_.handoff.consumed.wait_for(reused);
}

void Delivery::consume_loop() {
  take_place(in_.binding, Role::consumer);
  const Counter& source = in_.copy != nullptr ? in_.handoff.copied : in_.handoff.ready;
  for (std::uint32_t b = 0; b < in_.schedule.batches(); ++b) {
    // What is ready when a stop comes would only keep the user waiting.
    if (!source.wait_for(b + 1) || in_.handoff.stopping()) {
      return;
    }
    consume(b);
  }
}

void Delivery::consume(std::uint32_t batch) {
  record(batch);
  DeliveryTimes& t = times_[batch];
  if (in_.compute) {
    t.compute_begin_ns = now_ns();
    emulate_compute(t.compute_begin_ns, in_.compute->of_batch(batch, in_.seed));
    t.compute_end_ns = now_ns();
  }
  t.consumed_ns = t.compute_end_ns != 0 ? t.compute_end_ns : now_ns();
  in_.handoff.consumed.publish(batch + 1);
}

void Delivery::record(std::uint32_t batch) {
  for (std::uint32_t i = in_.schedule.batch_begin[batch]; i < in_.schedule.batch_begin[batch + 1];
       ++i) {
    if (const std::uint32_t p = in_.schedule.emission[i]; in_.failed[p] == 0) {
      delivered_.push_back(p);
    }
  }
  if (in_.progress != nullptr) {
    in_.progress->samples.store(delivered_.size(), std::memory_order_relaxed);
  }
  if (!in_.verify) {
    return;
  }
  gather(batch, record_parts_);
  const std::byte* staged = in_.copy != nullptr ? in_.copy->staged(batch) : nullptr;
  for (const BatchPart& part : record_parts_) {
    hashes_.push_back(XXH3_64bits(staged != nullptr ? staged : part.data, part.bytes));
    staged += staged != nullptr ? part.bytes : 0;
  }
}

Result<> Delivery::finish() {
  for (std::thread* t : {&copier_, &consumer_}) {
    if (t->joinable()) {
      t->join();
    }
  }
  return error_ ? Result<>(tl::unexpected(*error_)) : Result<>();
}

}  // namespace blksweep
