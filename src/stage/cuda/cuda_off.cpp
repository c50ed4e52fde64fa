// In place of *_cuda.cpp with CUDA=0.
#include "stage/cuda/cuda_stage.h"

namespace blksweep {
namespace {

constexpr const char* kBuiltWithout =
    "this program was built without CUDA (make CUDA=1, with nvcc); use --copy emulated and "
    "--consumer emulated";

}  // namespace

Result<> check_cuda(std::uint32_t /*device*/) { return unsupported(kBuiltWithout); }

Result<std::unique_ptr<CopyStage>> make_cuda_copy(const CudaCopySettings& /*settings*/) {
  return unsupported(kBuiltWithout);
}

Result<std::unique_ptr<Consumer>> make_cuda_consumer(const CudaConsumerSettings& /*settings*/) {
  return unsupported(kBuiltWithout);
}

std::string cuda_built_with() { return ""; }
bool cuda_context_lost() { return false; }
std::string cuda_pci_address(std::uint32_t /*device*/) { return ""; }
GpuAddress cuda_address(std::uint32_t /*device*/) { return {}; }

CudaFacts cuda_facts() {
  CudaFacts facts;
  facts.refusal = "built without CUDA";
  return facts;
}

}  // namespace blksweep
