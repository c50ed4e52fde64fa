// Accelerators: what the node has, and whether this program can use it.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "doctor/checks.h"
#include "doctor/driver_facts.h"
#include "os/file/file.h"
#include "stage/cuda/cuda_stage.h"
#include "stage/cuda/nvml.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWithout = "batches end in host memory, or copies and consumers are emulated";
constexpr const char* kNoStages =
    "--copy cuda and --consumer cuda, cuda-memory and gemm end with exit code 77";

bool readable(const char* path) { return ::access(path, R_OK | W_OK) == 0; }

std::string cuda_toolkit() {
  std::error_code ec;
  for (const char* folder : {"/usr/local/cuda", "/usr/lib/cuda"}) {
    if (fs::exists(fs::path(folder) / "bin/nvcc", ec)) {
      return folder;
    }
  }
  return fs::exists("/usr/bin/nvcc", ec) ? "/usr/bin/nvcc" : "";
}

}  // namespace

Check check_gpu(const Subject&) {
  if (!readable("/dev/nvidiactl")) {
    return {"GPU", Health::missing, "no /dev/nvidiactl that we may open", kWithout,
            "an NVIDIA GPU with its driver (in a container: --gpus all)"};
  }
  if (!readable("/dev/nvidia-uvm")) {  // libcuda would make it, and that would last
    return {"GPU", Health::limited, "no /dev/nvidia-uvm; libcuda was not tried", kWithout,
            "nvidia-modprobe -u"};
  }
  const DriverFacts d = ask_driver();
  if (!d.refusal.empty() || d.devices.empty()) {
    return {"GPU", Health::missing, d.refusal.empty() ? "no device" : d.refusal, kWithout,
            "the driver's libcuda.so.1 (Debian: libcuda1)"};
  }
  const std::string known = gpu_of_node();
  return ok("GPU",
            fmt::format("{}; driver for CUDA {}", known.empty() ? d.devices : known, d.version));
}

Check check_cuda(const Subject&) {
  const std::string made_with = cuda_built_with();
  if (made_with.empty()) {
    const std::string toolkit = cuda_toolkit();
    return {"CUDA", Health::missing,
            (toolkit.empty() ? "no nvcc" : "toolkit in " + toolkit) +
                "; this program was built without CUDA",
            kNoStages,
            toolkit.empty() ? "--copy emulated, --consumer emulated"
                            : "make CUDA=1, or --copy emulated, --consumer emulated"};
  }
  const std::string built = "built with CUDA " + made_with;
  if (!readable("/dev/nvidia-uvm")) {  // as above: the driver was not asked
    return {"CUDA", Health::missing, built + "; no /dev/nvidia-uvm", kNoStages,
            "--copy emulated, --consumer emulated"};
  }
  const CudaFacts facts = cuda_facts();
  if (!facts.refusal.empty()) {
    return {"CUDA", Health::missing, built + "; " + facts.refusal, kNoStages,
            "--copy emulated, --consumer emulated"};
  }
  std::string usable;
  for (const CudaFacts::Device& d : facts.devices) {
    usable += fmt::format("{}{} ({})", usable.empty() ? "" : ", ", d.name, format_bytes(d.memory));
  }
  return ok("CUDA", fmt::format("{}; usable: {}", built, usable));
}

}  // namespace blksweep
