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
  wrong_parts_.reserve(largest_batch(in.schedule));
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
      consume(consumed_++);  // without stages there is nothing to fail
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

// Of a stage's thread: remembers why and wakes everybody.
bool Delivery::ended_by(std::optional<Error>& mine, const Error& error) {
  mine = error;
  in_.handoff.request_stop();
  return false;
}

void Delivery::copy_loop() {
  take_place(in_.binding, Role::copy);
  const std::int64_t cpu = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
  copy_all();
  // Whatever ended it: nothing is in flight when the window goes.
  while (finished_ < begun_) {
    if (const Result<CopyTimes> drained = in_.copy->finish(finished_++); !drained && !copy_error_) {
      copy_error_ = drained.error();
    }
  }
  copy_cost_.cpu_ns = cpu_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
}

// Begins as far ahead as the stage, the window and the slots allow, so that the link stays busy.
bool Delivery::copy_all() {
  const auto batches = static_cast<std::uint32_t>(in_.schedule.batches());
  while (finished_ < batches) {
    while (begun_ < batches && begun_ - finished_ < in_.copy->in_flight() &&
           may_begin(begun_, begun_ == finished_)) {
      if (!begin_copy(begun_)) {
        return false;
      }
    }
    // Nothing begun: the wait ended by a stop. Else what comes after a stop would be for nobody.
    if (begun_ == finished_ || in_.handoff.stopping() || !finish_copy(finished_)) {
      return false;
    }
  }
  return true;
}

bool Delivery::may_begin(std::uint32_t batch, bool wait) {
  const std::uint32_t reused = batch < in_.staging_slots ? 0 : batch - in_.staging_slots + 1;
  if (wait ? !in_.handoff.ready.wait_for(batch + 1) : in_.handoff.ready.value() < batch + 1) {
    return false;
  }
  if (in_.handoff.consumed.value() >= reused) {
    return true;
  }
  std::int64_t& since = times_[batch].slot_wait_begin_ns;
  since = since == 0 ? now_ns() : since;
  return wait && in_.handoff.consumed.wait_for(reused);
}

bool Delivery::begin_copy(std::uint32_t batch) {
  gather(batch, copy_parts_);
  ++begun_;  // a begin() that fails halfway has copies in flight too
  if (Result<> begun = in_.copy->begin(batch, copy_parts_); !begun) {
    return ended_by(copy_error_, begun.error());
  }
  copy_cost_.parts += copy_parts_.size();
  for (const BatchPart& part : copy_parts_) {
    copy_cost_.bytes += part.bytes;
  }
  return true;
}

bool Delivery::finish_copy(std::uint32_t batch) {
  ++finished_;
  const Result<CopyTimes> copied = in_.copy->finish(batch);
  if (!copied) {
    return ended_by(copy_error_, copied.error());
  }
  times_[batch].staging_begin_ns = copied->staging_begin_ns;
  times_[batch].copy_begin_ns = copied->begin_ns;
  times_[batch].copy_end_ns = copied->end_ns;
  in_.handoff.copied.publish(batch + 1);
  return true;
}

void Delivery::consume_loop() {
  take_place(in_.binding, Role::consumer);
  const Counter& source = in_.copy != nullptr ? in_.handoff.copied : in_.handoff.ready;
  for (std::uint32_t b = 0; b < in_.schedule.batches(); ++b) {
    // What is ready when a stop comes would only keep the user waiting.
    if (!source.wait_for(b + 1) || in_.handoff.stopping() || !consume(b)) {
      return;
    }
  }
}

bool Delivery::consume(std::uint32_t batch) {
  if (!record(batch)) {
    return false;
  }
  DeliveryTimes& t = times_[batch];
  if (in_.consumer != nullptr) {
    const std::uint32_t samples =
        in_.schedule.batch_begin[batch + 1] - in_.schedule.batch_begin[batch];
    const Result<ComputeTimes> computed =
        in_.consumer->consume(batch, in_.compute.of_batch(batch, samples, in_.seed));
    if (!computed) {
      return ended_by(consumer_error_, computed.error());
    }
    t.compute_begin_ns = computed->begin_ns;
    t.compute_end_ns = computed->end_ns;
  }
  t.consumed_ns = t.compute_end_ns != 0 ? t.compute_end_ns : now_ns();
  in_.handoff.consumed.publish(batch + 1);
  return true;
}

bool Delivery::record(std::uint32_t batch) {
  for (std::uint32_t i = in_.schedule.batch_begin[batch]; i < in_.schedule.batch_begin[batch + 1];
       ++i) {
    if (const std::uint32_t p = in_.schedule.emission[i]; in_.failed[p] == 0) {
      delivered_.push_back(p);
    }
  }
  if (in_.progress != nullptr) {
    in_.progress->samples.store(delivered_.size(), std::memory_order_relaxed);
  }
  if (in_.verify) {
    if (const Result<> hashed = hash(batch); !hashed) {
      return ended_by(consumer_error_, hashed.error());
    }
  }
  return true;
}

Result<> Delivery::hash(std::uint32_t batch) {
  gather(batch, record_parts_);
  wrong_parts_.assign(record_parts_.size(), 0);
  const std::byte* staged = nullptr;
  if (in_.copy != nullptr) {
    staged = in_.copy->staged(batch);
    BLKSWEEP_CHECK(in_.copy->check(batch, record_parts_, wrong_parts_));
  }
  for (std::size_t i = 0; i < record_parts_.size(); ++i) {
    const BatchPart& part = record_parts_[i];
    const std::uint64_t here = XXH3_64bits(staged != nullptr ? staged : part.data, part.bytes);
    // A part that differs on the accelerator is no longer the file's, whatever it is here.
    hashes_.push_back(wrong_parts_[i] == 0 ? here : ~here);
    staged += staged != nullptr ? part.bytes : 0;
  }
  return {};
}

Result<> Delivery::finish() {
  for (std::thread* t : {&copier_, &consumer_}) {
    if (t->joinable()) {
      t->join();
    }
  }
  if (copy_error_) {
    return tl::unexpected(*copy_error_);
  }
  return consumer_error_ ? Result<>(tl::unexpected(*consumer_error_)) : Result<>();
}

}  // namespace blksweep
