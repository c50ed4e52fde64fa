#include "loader/stages.h"

#include "stage/emulated_copy.h"
#include "stage/fresh_copy.h"
#include "stage/pageable_copy.h"

namespace blksweep {
namespace {

Result<std::unique_ptr<CopyStage>> over_a_link(const StageRequest& q) {
  const CopyTuning& tuning = q.settings.copy_tuning;
  const LinkSettings link{tuning.bandwidth, tuning.latency, tuning.streams};
  switch (tuning.staging) {
    case Staging::pageable:
      return make_pageable_copy(link, q.stop);
    case Staging::per_batch:
      return make_fresh_copy(device_slots(q.settings), make_emulated_copy(link, q.stop));
    case Staging::pinned:
    case Staging::register_each:
      break;
  }
  return make_emulated_copy(link, q.stop);
}

// One of the two is on the GPU, and the other one has the host's clock.
bool on_two_clocks(const LoaderSettings& s) {
  return s.copy != CopyKind::none && s.consumer != ConsumerKind::none &&
         needs_gpu(s.copy) != needs_gpu(s.consumer);
}

}  // namespace

std::uint32_t device_slots(const LoaderSettings& settings) {
  return settings.prefetch == 0 ? 1 : settings.copy_tuning.slots;
}

std::uint32_t launched_ahead(const LoaderSettings& settings) {
  constexpr std::uint32_t kInUseAndNext = 2;
  return settings.copy != CopyKind::none ? device_slots(settings)
         : settings.prefetch == 0        ? 1
                                         : kInUseAndNext;
}

std::uint32_t decode_slots(const LoaderSettings& settings) {
  const bool ahead = settings.copy != CopyKind::none && settings.prefetch > 0;
  return device_slots(settings) + (ahead ? 1 : 0);
}

Result<> check_stages(const LoaderSettings& settings) {
  return needs_gpu(settings) ? check_cuda(settings.device_index) : Result<>();
}

Result<std::unique_ptr<CopyStage>> make_copy(const StageRequest& q) {
  const CopyTuning& tuning = q.settings.copy_tuning;
  switch (q.settings.copy) {
    case CopyKind::none:
      break;
    case CopyKind::host:
      return tuning.staging == Staging::per_batch
                 ? make_fresh_copy(device_slots(q.settings), nullptr)
                 : make_host_copy(device_slots(q.settings), q.batch_bytes);
    case CopyKind::emulated:
      return over_a_link(q);
    case CopyKind::cuda:
      return make_cuda_copy({.device = q.settings.device_index,
                             .staging = tuning.staging,
                             .streams = tuning.streams,
                             .slots = device_slots(q.settings),
                             .batch_bytes = q.batch_bytes,
                             .batch_parts = q.batch_parts,
                             .arena = q.arena,
                             .host_clock = on_two_clocks(q.settings)});
  }
  return std::unique_ptr<CopyStage>();
}

Result<std::unique_ptr<Consumer>> make_consumer(const StageRequest& q) {
  switch (q.settings.consumer) {
    case ConsumerKind::none:
      break;
    case ConsumerKind::emulated:
      return make_emulated_consumer(launched_ahead(q.settings), q.stop);
    case ConsumerKind::cuda:
    case ConsumerKind::cuda_memory:
    case ConsumerKind::gemm:
      return make_cuda_consumer({.device = q.settings.device_index,
                                 .kind = q.settings.consumer,
                                 .typical = q.settings.compute.mean,
                                 .ahead = launched_ahead(q.settings),
                                 .host_clock = on_two_clocks(q.settings)});
  }
  return std::unique_ptr<Consumer>();
}

}  // namespace blksweep
