// The copy stage and the consumer on an NVIDIA GPU.
//
// Built with CUDA=1 (*_cuda.cpp, kernels.cu) they need a driver only when they are made: they look
// for libcuda.so.1 then, and link nothing of CUDA. With CUDA=0 cuda_off.cpp stands in their place
// and refuses. No header outside of *_cuda.* knows a CUDA type.
//
// Errors:  Exit::unsupported with one line: built without CUDA, no driver, a driver that is too
//          old, no GPU, one that is too old, an index out of range (gpu_words.h). Later: what CUDA
//          says, with the call and the object.
// Threads: as CopyStage and Consumer say. Of one GPU they share a clock and nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/units.h"
#include "stage/consumer.h"
#include "stage/copy_stage.h"
#include "stage/cuda/gpu_words.h"
#include "stage/stage_settings.h"

namespace blksweep {

// Whether a run may ask for this GPU: the refusals above, before anything is measured.
Result<> check_cuda(std::uint32_t device);

struct CudaCopySettings {
  std::uint32_t device = 0;
  Staging staging = Staging::pinned;
  std::uint32_t streams = 1;
  std::uint32_t slots = 2;
  Bytes batch_bytes;              // of the largest batch
  std::uint32_t batch_parts = 0;  // of the largest batch
  std::span<std::byte> arena;     // what all parts lie in; outlives the stage
  bool one_call = true;           // all parts of a batch in one call, where the runtime has it
  bool host_clock = false;        // as of the consumer
};

Result<std::unique_ptr<CopyStage>> make_cuda_copy(const CudaCopySettings& settings);

struct CudaConsumerSettings {
  std::uint32_t device = 0;
  ConsumerKind kind = ConsumerKind::cuda;
  Nanos typical{0};         // of a batch: what the calibration is made for
  std::uint32_t ahead = 2;  // batches that are launched and not finished
  // What is compared with it has CLOCK_MONOTONIC, from which a clock that is set once drifts away:
  // its spans are on CLOCK_MONOTONIC, too.
  bool host_clock = false;
};

Result<std::unique_ptr<Consumer>> make_cuda_consumer(const CudaConsumerSettings& settings);

// The toolkit, "13.0"; empty: built without CUDA. Touches no driver.
std::string cuda_built_with();
// "0000:65:00.0", what NVML knows the GPU by; empty: unknown.
std::string cuda_pci_address(std::uint32_t device);
GpuAddress cuda_address(std::uint32_t device);

// For doctor and records: what this program could use here. Initialises the driver, which makes
// /dev/nvidia-uvm where it is not there yet.
struct CudaFacts {
  std::string driver;  // "13.0"; empty: none
  struct Device {
    std::string name;
    Bytes memory;
  };
  std::vector<Device> devices;
  std::string refusal;  // why no GPU can be used; empty: one can
};
CudaFacts cuda_facts();

// A kernel or a copy failed such that CUDA refuses everything else in this process (a sticky
// error).
bool cuda_context_lost();

}  // namespace blksweep
