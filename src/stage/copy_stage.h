// CopyStage: brings a batch from the window to where the consumer wants it.
//
// Lifetime:  the parts stay valid until copy() returns; the staged batch until its slot is reused,
//            `slots` batches later.
// Errors:    an Error ends the run.
// Threads:   copy() on one thread; staged() after it returned, on any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/memory.h"
#include "base/result.h"

namespace blksweep {

struct BatchPart {
  const std::byte* data;
  std::size_t bytes;
};

class CopyStage {
 public:
  virtual ~CopyStage() = default;
  virtual Result<> copy(std::uint32_t batch, std::span<const BatchPart> parts) = 0;
  // Where the batch's parts lie now, one behind the other.
  virtual const std::byte* staged(std::uint32_t batch) const = 0;
};

// memcpy into a ring of `slots` staging buffers of `batch_bytes` each.
Result<std::unique_ptr<CopyStage>> make_host_copy(std::uint32_t slots, Bytes batch_bytes);

}  // namespace blksweep
