// What an experiment can vary of the copy stage and the consumer. Values only; text is parsed in
// cli/.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "stage/virtual_link.h"

namespace blksweep {

enum class CopyKind { none, host, emulated, cuda };
// cuda_memory streams through the accelerator's memory for its time, so that it contends with the
// copies; gemm multiplies square matrices.
enum class ConsumerKind { none, emulated, cuda, cuda_memory, gemm };

// Where a CUDA copy reads from (docs/measurement.md).
enum class Staging {
  pinned,         // the window itself, registered once: no copy on the host
  pageable,       // the window as it is; the driver stages through its own buffers and blocks
  register_each,  // the batch's parts are registered before its copy and given back after it
  per_batch,      // gathered into pinned memory that is allocated for the batch
};

struct CopyTuning {
  Bytes bandwidth = LinkSettings{}.bandwidth;  // emulated
  Nanos latency = LinkSettings{}.latency;      // emulated
  Staging staging = Staging::pinned;           // cuda
  std::uint32_t streams = 1;                   // lanes of the emulated link
  std::uint32_t slots = 2;                     // with prefetch 0 there is one
};

constexpr bool needs_gpu(CopyKind kind) { return kind == CopyKind::cuda; }
constexpr bool needs_gpu(ConsumerKind kind) {
  return kind != ConsumerKind::none && kind != ConsumerKind::emulated;
}

}  // namespace blksweep
