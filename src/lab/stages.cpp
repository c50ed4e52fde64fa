#include "lab/stages.h"

#include "stage/cuda_stage.h"
#include "stage/emulated_copy.h"
#include "stage/fresh_copy.h"
#include "stage/pageable_copy.h"

namespace blksweep {
namespace {

Result<std::unique_ptr<CopyStage>> over_a_link(const CellSettings& cell) {
  const CopyTuning& tuning = cell.copy_tuning;
  const LinkSettings link{tuning.bandwidth, tuning.latency, tuning.streams};
  switch (tuning.staging) {
    case Staging::pageable:
      return make_pageable_copy(link);
    case Staging::per_batch:
      return make_fresh_copy(device_slots(cell), make_emulated_copy(link));
    case Staging::pinned:
    case Staging::register_each:
      break;
  }
  return make_emulated_copy(link);
}

}  // namespace

std::uint32_t device_slots(const CellSettings& cell) {
  return cell.prefetch == 0 ? 1 : cell.copy_tuning.slots;
}

Result<std::unique_ptr<CopyStage>> make_copy(const StageRequest& q) {
  const CopyTuning& tuning = q.cell.copy_tuning;
  switch (q.cell.copy) {
    case CopyKind::none:
      break;
    case CopyKind::host:
      return tuning.staging == Staging::per_batch
                 ? make_fresh_copy(device_slots(q.cell), nullptr)
                 : make_host_copy(device_slots(q.cell), q.batch_bytes);
    case CopyKind::emulated:
      return over_a_link(q.cell);
    case CopyKind::cuda:
      return make_cuda_copy({.device = q.cell.device_index,
                             .staging = tuning.staging,
                             .streams = tuning.streams,
                             .slots = device_slots(q.cell),
                             .batch_bytes = q.batch_bytes,
                             .batch_parts = q.batch_parts,
                             .arena = q.arena});
  }
  return std::unique_ptr<CopyStage>();
}

Result<std::unique_ptr<Consumer>> make_consumer(const StageRequest& q) {
  switch (q.cell.consumer) {
    case ConsumerKind::none:
      break;
    case ConsumerKind::emulated:
      return make_emulated_consumer();
    case ConsumerKind::cuda:
    case ConsumerKind::cuda_memory:
    case ConsumerKind::gemm:
      return make_cuda_consumer({q.cell.device_index, q.cell.consumer, q.cell.compute.mean});
  }
  return std::unique_ptr<Consumer>();
}

}  // namespace blksweep
