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

// Where a copy reads from (docs/copy-stage.md); not every kind of copy has all (has_staging).
enum class Staging {
  pinned,         // memory made once: the window itself without a copy on the host (host: a ring)
  pageable,       // the window as it is, staged through small buffers by a thread that blocks
  register_each,  // the batch's parts are registered before its copy and given back after it
  per_batch,      // gathered into memory that is allocated for the batch
};

struct CopyTuning {
  Bytes bandwidth = LinkSettings{}.bandwidth;  // emulated
  Nanos latency = LinkSettings{}.latency;      // emulated
  Staging staging = Staging::pinned;
  std::uint32_t streams = 1;  // lanes of the emulated link
  std::uint32_t slots = 2;    // with prefetch 0 there is one
};

// Whether the copy can be made that way: without a link there is nothing to pin memory for, and to
// register it takes a driver.
constexpr bool has_staging(CopyKind kind, Staging staging) {
  return staging == Staging::pinned || kind == CopyKind::cuda ||
         (kind == CopyKind::emulated && staging != Staging::register_each) ||
         (kind == CopyKind::host && staging == Staging::per_batch);
}

constexpr bool needs_gpu(CopyKind kind) { return kind == CopyKind::cuda; }
constexpr bool needs_gpu(ConsumerKind kind) {
  return kind != ConsumerKind::none && kind != ConsumerKind::emulated;
}

}  // namespace blksweep
