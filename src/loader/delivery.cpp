#include "loader/delivery.h"

#include <xxhash.h>

#include <algorithm>

#include "base/clock.h"
#include "loader/batch_parts.h"
#include "plan/batch_slots.h"

namespace blksweep {
Delivery::Delivery(const DeliveryInputs& in) : in_(in), exchanges_(in.plan, in.schedule, in.arena) {
  delivered_.reserve(in.schedule.emission.size());
  hashes_.reserve(in.verify ? in.schedule.emission.size() : 0);
  decode_parts_.reserve(in.schedule.largest_batch());
  decode_room_.reserve(in.schedule.largest_batch());
  copy_parts_.reserve(in.schedule.largest_batch());
  record_parts_.reserve(in.schedule.largest_batch());
  wrong_parts_.reserve(in.schedule.largest_batch());
  device_work_.transfers.reserve(in.copy != nullptr ? in.schedule.batches() : 0);
  device_work_.kernels.reserve(in.consumer != nullptr ? in.schedule.batches() : 0);
}

Delivery::~Delivery() {
  in_.handoff.request_stop();
  join();
}

void Delivery::join() {
  for (std::thread* t : {&decoder_, &copier_, &consumer_}) {
    if (t->joinable()) {
      t->join();
    }
  }
}

void Delivery::start() {
  if (in_.decode != nullptr) {
    decoder_ = std::thread([this] { decode_loop(); });
  }
  if (in_.copy != nullptr) {
    copier_ = std::thread([this] { copy_loop(); });
  } else if (in_.consumer != nullptr) {
    copier_ = std::thread([this] { launch_loop(); });
  }
  if (has_stages() && !in_.pulled) {
    consumer_ = std::thread([this] { consume_loop(); });
  }
}

void Delivery::on_ready() {
  if (!has_stages() && !in_.pulled) {
    while (consumed_ < in_.handoff.ready.value()) {
      consume(consumed_++);  // without stages there is nothing to fail
    }
  }
}

void Delivery::gather(std::uint32_t batch, std::vector<BatchPart>& parts) const {
  parts.clear();
  each_part(in_.schedule, in_.failed, batch, [&](std::uint32_t i) {
    parts.push_back({in_.arena.data() + in_.schedule.place_of(in_.plan, i),
                     in_.catalog.sample(in_.plan.order[in_.schedule.emission[i]]).length});
  });
}

// As the next stage gets them. `scratch` is the caller's.
std::span<const BatchPart> Delivery::parts_of(std::uint32_t batch,
                                              std::vector<BatchPart>& scratch) const {
  if (in_.decode != nullptr) {
    return in_.decode->decoded(batch);
  }
  gather(batch, scratch);
  return scratch;
}

// Count the batches that may be copied, and those that may be consumed.
const Counter& Delivery::to_copy() const {
  return in_.decode != nullptr ? in_.handoff.decoded : in_.handoff.ready;
}
const Counter& Delivery::to_consume() const {
  return in_.copy != nullptr ? in_.handoff.copied : to_copy();
}

// Of a stage's thread: remembers why, unless another one failed before, and wakes everybody.
bool Delivery::ended_by(const Error& error) {
  if (!failed_.exchange(true)) {
    error_ = error;
  }
  in_.handoff.request_stop();
  return false;
}

// A wait is kept where passed() finds it.
bool Delivery::wait_for_slot(std::uint32_t batch, std::uint32_t slots, Stage stage) {
  const std::uint32_t before = consumed_before(batch, slots);
  if (in_.handoff.consumed.value() >= before) {
    return true;
  }
  in_.handoff.times[batch][stage] = without_wait({now_ns(), 0});
  return in_.handoff.consumed.wait_for(before);
}

void Delivery::passed(std::uint32_t batch, Stage stage, const TimeSpan& span) {
  auto& times = in_.handoff.times[batch][stage];
  times = {span, times ? times->wait : span.begin};
}

void Delivery::gather_room(std::uint32_t batch) {
  decode_room_.clear();
  each_part(in_.schedule, in_.failed, batch,
            [&](std::uint32_t i) { decode_room_.push_back(in_.decoded_bytes[i]); });
}

void Delivery::decode_loop() {
  take_place(in_.place, Role::copy);
  for (std::uint32_t b = 0; b < in_.schedule.batches(); ++b) {
    if (!in_.handoff.ready.wait_for(b + 1) || in_.handoff.stopping() ||
        !wait_for_slot(b, in_.decode->slots(), Stage::decode)) {
      return;
    }
    exchanges_.make(b);
    gather(b, decode_parts_);
    gather_room(b);
    passed(b, Stage::decode, in_.decode->decode(b, decode_parts_, decode_room_));
    in_.handoff.decoded.publish(b + 1);
  }
}

void Delivery::copy_loop() {
  take_place(in_.place, Role::copy);
  const std::int64_t cpu = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
  copy_all();
  // Whatever ended it: nothing is in flight when the window goes.
  while (finished_ < begun_) {
    if (const Result<CopyTimes> drained = in_.copy->finish(finished_++); !drained) {
      ended_by(drained.error());
    }
  }
  copy_cost_.cpu_ns = cpu_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
}

// Begins as far ahead as the stage, the window and the slots allow, so that the link stays busy.
bool Delivery::copy_all() {
  const auto batches = static_cast<std::uint32_t>(in_.schedule.batches());
  while (finished_ < batches) {
    while (begun_ < batches && begun_ - finished_ < in_.copy->in_flight() &&
           (begun_ == finished_ ? wait_to_begin(begun_) : may_begin(begun_))) {
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

// While others are under way: a slot that is missing now is not yet what anybody waits for.
bool Delivery::may_begin(std::uint32_t batch) const {
  return to_copy().value() > batch &&
         in_.handoff.consumed.value() >= consumed_before(batch, in_.staging_slots);
}

bool Delivery::wait_to_begin(std::uint32_t batch) {
  return to_copy().wait_for(batch + 1) && wait_for_slot(batch, in_.staging_slots, Stage::copy);
}

bool Delivery::begin_copy(std::uint32_t batch) {
  if (batch >= in_.staging_slots && releases_late(batch - in_.staging_slots) &&
      !release(batch - in_.staging_slots)) {
    return false;
  }
  if (in_.decode == nullptr) {
    exchanges_.make(batch);
  }
  const std::span<const BatchPart> parts = parts_of(batch, copy_parts_);
  ++begun_;  // a begin() that fails halfway has copies in flight too
  const std::int64_t called = now_ns();
  if (Result<> begun = in_.copy->begin(batch, parts); !begun) {
    return ended_by(begun.error());
  }
  passed(batch, Stage::blocked, {called, now_ns()});
  copy_cost_.parts += parts.size();
  for (const BatchPart& part : parts) {
    copy_cost_.bytes += part.bytes;
  }
  if (in_.consumer == nullptr || launched_ != batch) {
    return true;
  }
  const std::optional<BatchArrival> arrival = in_.copy->arrival(batch);
  return !arrival || !in_.consumer->waits_for(*arrival) || launch(batch, *arrival);
}

bool Delivery::finish_copy(std::uint32_t batch) {
  ++finished_;
  const Result<CopyTimes> copied = in_.copy->finish(batch);
  if (!copied) {
    return ended_by(copied.error());
  }
  if (!arrive(batch, *copied)) {
    return false;
  }
  const bool now = in_.copy->releases() == Releases::arrived && !releases_late(batch);
  if (now && !release(batch)) {
    return false;
  }
  in_.handoff.released.publish(batch + 1);
  return true;
}

// Nobody who waits for the batch waits for what the stage does with it afterwards.
bool Delivery::arrive(std::uint32_t batch, const CopyTimes& times) {
  StageTimes& blocked = *in_.handoff.times[batch][Stage::blocked];
  const auto within = [&](std::int64_t t) { return std::clamp(t, times.all.begin, times.all.end); };
  blocked = without_wait({within(blocked.begin), within(blocked.end)});
  passed(batch, Stage::copy, times.all);
  passed(batch, Stage::transfer, times.transfer);
  in_.handoff.copied.publish(batch + 1);
  const std::span<const TransferSlice> slices = in_.copy->slices(batch);
  device_work_.transfers.insert(device_work_.transfers.end(), slices.begin(), slices.end());
  return in_.consumer == nullptr || launched_ != batch || launch(batch, {.at_ns = times.all.end});
}

// Memory in which a batch lies, or that verification looks into, has to wait.
bool Delivery::releases_late(std::uint32_t batch) const {
  const Releases when = in_.copy->releases();
  return when == Releases::consumed ||
         (when == Releases::arrived && in_.verify && in_.copy->staged(batch) != nullptr);
}

bool Delivery::release(std::uint32_t batch) {
  const std::int64_t begin = now_ns();
  if (const Result<> released = in_.copy->release(batch); !released) {
    return ended_by(released.error());
  }
  passed(batch, Stage::release, {begin, now_ns()});
  return true;
}

// Without a copy stage: a batch has arrived when it is there.
void Delivery::launch_loop() {
  take_place(in_.place, Role::consumer);
  for (std::uint32_t b = 0; b < in_.schedule.batches(); ++b) {
    if (!to_consume().wait_for(b + 1) ||
        !in_.handoff.consumed.wait_for(consumed_before(b, in_.launched_ahead)) ||
        in_.handoff.stopping() || !launch(b, {.at_ns = in_.handoff.times[b].arrived()})) {
      return;
    }
  }
}

Nanos Delivery::takes(std::uint32_t batch) const {
  return in_.compute.of_batch(
      batch, in_.schedule.batch_begin[batch + 1] - in_.schedule.batch_begin[batch], in_.seed);
}

bool Delivery::launch(std::uint32_t batch, const BatchArrival& arrival) {
  if (const Result<> launched = in_.consumer->launch(batch, takes(batch), arrival); !launched) {
    return ended_by(launched.error());
  }
  in_.handoff.launched.publish(++launched_);
  return true;
}

void Delivery::consume_loop() {
  take_place(in_.place, Role::consumer);
  for (std::uint32_t b = 0; b < in_.schedule.batches(); ++b) {
    // What is ready when a stop comes would only keep the user waiting.
    if (!to_consume().wait_for(b + 1) || in_.handoff.stopping() || !consume(b)) {
      return;
    }
  }
}

bool Delivery::consume(std::uint32_t batch) {
  if (!record(batch)) {
    return false;
  }
  BatchTimes& t = in_.handoff.times[batch];
  std::int64_t through = now_ns();
  if (in_.consumer != nullptr) {
    if (!compute(batch)) {
      return false;
    }
    through = t[Stage::compute]->end;
  }
  if (in_.copy != nullptr) {
    if (!in_.handoff.released.wait_for(batch + 1)) {
      return false;
    }
    through = std::max(through, t[Stage::release] ? t[Stage::release]->end : through);
  }
  t.consumed = through;
  in_.handoff.consumed.publish(batch + 1);
  return true;
}

bool Delivery::compute(std::uint32_t batch) {
  if (!in_.handoff.launched.wait_for(batch + 1)) {
    return false;
  }
  const Result<ComputeTimes> computed = in_.consumer->finish(batch);
  if (!computed) {
    return ended_by(computed.error());
  }
  passed(batch, Stage::compute, computed->host);
  device_work_.kernels.push_back({computed->device, batch, takes(batch).count()});
  return true;
}

bool Delivery::record(std::uint32_t batch) {
  if (in_.decode == nullptr && in_.copy == nullptr) {
    exchanges_.make(batch);
  }
  each_part(in_.schedule, in_.failed, batch,
            [&](std::uint32_t i) { delivered_.push_back(in_.schedule.emission[i]); });
  if (in_.progress != nullptr) {
    in_.progress->samples.store(delivered_.size(), std::memory_order_relaxed);
  }
  if (in_.spot != nullptr) {
    in_.spot->hash_batch(batch, in_.arena, in_.failed);
  }
  if (in_.verify) {
    if (const Result<> hashed = hash(batch); !hashed) {
      return ended_by(hashed.error());
    }
  }
  return true;
}

Result<> Delivery::hash(std::uint32_t batch) {
  const std::span<const BatchPart> parts = parts_of(batch, record_parts_);
  wrong_parts_.assign(parts.size(), 0);
  const std::byte* staged = nullptr;
  if (in_.copy != nullptr) {
    staged = in_.copy->staged(batch);
    BLKSWEEP_CHECK(in_.copy->check(batch, parts, wrong_parts_));
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const BatchPart& part = parts[i];
    const std::uint64_t here = XXH3_64bits(staged != nullptr ? staged : part.data, part.bytes);
    // A part that differs on the accelerator is no longer the file's, whatever it is here.
    hashes_.push_back(wrong_parts_[i] == 0 ? here : ~here);
    staged += staged != nullptr ? part.bytes : 0;
  }
  return {};
}

bool Delivery::has(std::uint32_t batch) const {
  return to_consume().value() > batch || in_.handoff.stopping();
}

bool Delivery::comes(std::uint32_t batch, std::chrono::nanoseconds most) const {
  return to_consume().settles(batch + 1, most);
}

bool Delivery::take(std::uint32_t batch) {
  return to_consume().wait_for(batch + 1) && !in_.handoff.stopping() && record(batch);
}

void Delivery::give_back(std::uint32_t batch) {
  if (in_.copy != nullptr) {
    in_.handoff.released.wait_for(batch + 1);
  }
  in_.handoff.times[batch].consumed = now_ns();
  in_.handoff.consumed.publish(batch + 1);
}

Result<> Delivery::finish() {
  join();
  if (in_.pulled && !in_.handoff.stopping()) {
    in_.handoff.consumed.wait_for(static_cast<std::uint32_t>(in_.schedule.batches()));
  }
  return error_ ? Result<>(tl::unexpected(*error_)) : Result<>();
}

}  // namespace blksweep
