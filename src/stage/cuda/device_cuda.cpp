#include "stage/cuda/device_cuda.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>

#include "base/units.h"
#include "stage/cuda/cuda_stage.h"
#include "stage/cuda/gpu_words.h"

namespace blksweep {
namespace {

// As nvcc made it of kernels.cu.
constexpr const char* kPtx =
#include "kernels.ptx.inc"
    ;

constexpr const char* kOnlyANewProcess =
    "; this process's GPU context is lost: only a new process can use the GPU again";

struct Opened {
  CUcontext context = nullptr;
  Kernels kernels{};

  Result<> use() const;
};

std::atomic<bool> context_lost{false};
std::mutex opened_mutex;
std::map<std::uint32_t, Opened> opened;  // never given back: a process has one context a GPU
thread_local const Kernels* kernels_of_thread = nullptr;

// Read by the driver when it starts; what the user has set stays. With the default of 8 work queues
// the clock's stream may share one with a kernel's and wait behind it; kernels that are loaded when
// they are first launched would be loaded in the measured epoch; and compiled PTX would be kept in
// the home folder (CUDA C++ Programming Guide, environment variables).
void prepare_environment() {
  ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  ::setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  ::setenv("CUDA_CACHE_DISABLE", "1", 0);
}

GpuNode ask_node() {
  GpuNode n;
  const CudaDriver& cuda = cuda_driver();
  if (!cuda.found || (cuda.driver_version != nullptr && cuda.driver_version(&n.driver) != 0)) {
    return n;
  }
  n.error_words = cuda.refusal;
  if (n.error_words.empty()) {
    prepare_environment();
    CUresult err = cuda.init(0);
    err = err == CUDA_SUCCESS ? cuda.device_count(&n.devices) : err;
    n.error = static_cast<int>(err);
    n.error_words = err == CUDA_SUCCESS ? "" : cuda_words(err);
  }
  return n;
}

// Whether nothing more can be had of this context. One that is not there says nothing of the GPU.
bool loses_context(CUresult err) {
  const GpuError kind = gpu_error(static_cast<int>(err));
  if (kind != GpuError::unknown) {
    return kind == GpuError::sticky;
  }
  std::size_t left = 0;
  std::size_t all = 0;
  const CUresult answer = cuda_driver().memory_left(&left, &all);
  return answer != CUDA_SUCCESS && answer != CUDA_ERROR_INVALID_CONTEXT &&
         answer != CUDA_ERROR_NOT_INITIALIZED;
}

int attribute_of(CUdevice device, CUdevice_attribute attribute) {
  int value = 0;
  return cuda_driver().device_attribute(&value, attribute, device) == CUDA_SUCCESS ? value : 0;
}

std::string name_of(CUdevice device) {
  std::array<char, 128> name{};
  const auto room = static_cast<int>(name.size()) - 1;
  return cuda_driver().device_name(name.data(), room, device) == CUDA_SUCCESS ? name.data() : "GPU";
}

std::string capability_refusal(std::uint32_t index) {
  const auto device = static_cast<CUdevice>(index);
  return gpu_capability_refusal(
      index, name_of(device),
      attribute_of(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 +
          attribute_of(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
}

Result<Kernels> load_kernels() {
  std::array<char, 1024> log{};
  std::array<CUjit_option, 2> options{CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver takes numbers so
  std::array<void*, 2> values{log.data(), reinterpret_cast<void*>(log.size() - 1)};
  CUmodule module = nullptr;
  const CudaDriver& cuda = cuda_driver();
  BLKSWEEP_CHECK(
      cuda_result(cuda.module_load(&module, kPtx, 2, options.data(), values.data()),
                  fmt::format("the kernels{}{}", log[0] != '\0' ? ": " : "", log.data())));
  Kernels k{};
  for (const auto& [kernel, name] : {std::pair{&k.spin, "blksweep_spin"},
                                     {&k.memory_pressure, "blksweep_memory_pressure"},
                                     {&k.gemm, "blksweep_gemm"},
                                     {&k.hash, "blksweep_hash"}}) {
    BLKSWEEP_CHECK(cuda_result(cuda.module_function(kernel, module, name), name));
  }
  return k;
}

}  // namespace

std::string cuda_words(CUresult err) {
  const char* words = nullptr;
  const char* name = nullptr;
  const CudaDriver& cuda = cuda_driver();
  if (cuda.error_string(err, &words) != CUDA_SUCCESS ||
      cuda.error_name(err, &name) != CUDA_SUCCESS) {
    return fmt::format("CUDA error {}", static_cast<int>(err));
  }
  return fmt::format("{} ({})", words, name);
}

bool cuda_context_lost() { return context_lost.load(); }

Result<> cuda_result(CUresult err, const std::string& what) {
  if (err == CUDA_SUCCESS) {
    return {};
  }
  const bool lost_before = context_lost.load();
  const bool lost = lost_before || loses_context(err);
  if (lost) {
    context_lost.store(true);
  }
  const std::string fate = lost_before ? " (this process's GPU context is lost)"
                           : lost      ? kOnlyANewProcess
                                       : "";
  return fail(what + ": " + cuda_words(err) + fate);
}

std::string cuda_built_with() { return cuda_version_words(CUDA_VERSION); }

std::string cuda_pci_address(std::uint32_t device) {
  std::array<char, 32> text{};
  const auto room = static_cast<int>(text.size());
  return gpu_refusal(ask_node()).empty() &&
                 cuda_driver().device_pci(text.data(), room, static_cast<CUdevice>(device)) ==
                     CUDA_SUCCESS
             ? text.data()
             : "";
}

GpuAddress cuda_address(std::uint32_t device) {
  GpuAddress at{cuda_pci_address(device), ""};
  CUuuid uuid{};
  if (!at.pci.empty() && cuda_driver().device_uuid != nullptr &&
      cuda_driver().device_uuid(&uuid, static_cast<CUdevice>(device)) == CUDA_SUCCESS) {
    for (std::size_t i = 0; i < std::size(uuid.bytes); ++i) {
      at.uuid += fmt::format("{}{:02x}", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                             static_cast<unsigned char>(uuid.bytes[i]));
    }
  }
  return at;
}

CudaFacts cuda_facts() {
  const GpuNode node = ask_node();
  CudaFacts facts;
  facts.driver = cuda_version_words(node.driver);
  facts.refusal = gpu_refusal(node);
  for (CUdevice i = 0; facts.refusal.empty() && i < node.devices; ++i) {
    std::size_t bytes = 0;
    if (cuda_driver().device_memory(&bytes, i) == CUDA_SUCCESS) {
      facts.devices.push_back({name_of(i), {bytes}});
    }
  }
  return facts;
}

Result<> check_cuda(std::uint32_t device) {
  if (cuda_context_lost()) {
    return fail("an earlier error of a kernel or a copy ended this process's use of the GPU" +
                std::string(kOnlyANewProcess));
  }
  const GpuNode node = ask_node();
  if (const std::string why = gpu_refusal(node); !why.empty()) {
    return unsupported(
        fmt::format("no GPU can be used: {}; use --copy emulated and --consumer "
                    "emulated",
                    why));
  }
  std::string why = gpu_index_refusal(node, device);
  why = why.empty() ? capability_refusal(device) : why;
  return why.empty() ? Result<>() : unsupported(why);
}

Result<> open_device(std::uint32_t device) {
  BLKSWEEP_CHECK(check_cuda(device));
  const std::lock_guard lock(opened_mutex);
  if (const auto known = opened.find(device); known != opened.end()) {
    return known->second.use();
  }
  Opened o;
  const CudaDriver& cuda = cuda_driver();
  BLKSWEEP_CHECK(cuda_result(cuda.context_retain(&o.context, static_cast<CUdevice>(device)),
                             fmt::format("context on GPU {}", device)));
  BLKSWEEP_CHECK(cuda_result(cuda.context_use(o.context), "cuCtxSetCurrent"));
  BLKSWEEP_TRY(o.kernels, load_kernels());
  return opened.emplace(device, o).first->second.use();
}

Result<> use_device(std::uint32_t device) {
  const std::lock_guard lock(opened_mutex);
  const auto known = opened.find(device);
  if (known == opened.end()) {
    return fail(fmt::format("GPU {} was not opened", device));
  }
  return known->second.use();
}

Result<> Opened::use() const {
  kernels_of_thread = &kernels;
  return cuda_result(cuda_driver().context_use(context), "cuCtxSetCurrent");
}

const Kernels& kernels_here() { return *kernels_of_thread; }

Result<Stream> make_stream() {
  CUstream raw = nullptr;
  BLKSWEEP_CHECK(
      cuda_result(cuda_driver().stream_create(&raw, CU_STREAM_NON_BLOCKING), "cuStreamCreate"));
  return Stream(raw);
}

Result<Event> make_event(bool blocking) {
  CUevent raw = nullptr;
  const unsigned flags = blocking ? CU_EVENT_BLOCKING_SYNC : CU_EVENT_DEFAULT;
  BLKSWEEP_CHECK(cuda_result(cuda_driver().event_create(&raw, flags), "cuEventCreate"));
  return Event(raw);
}

Result<void*> device_bytes(std::size_t bytes, const MemoryUse& use) {
  CUdeviceptr raw = 0;
  const CUresult err = cuda_driver().memory_alloc(&raw, std::max<std::size_t>(1, bytes));
  if (err == CUDA_ERROR_OUT_OF_MEMORY) {
    GpuMemoryRequest request{bytes, 0, 0, use.purpose, use.way_out};
    std::size_t left = 0;
    std::size_t all = 0;
    if (cuda_driver().memory_left(&left, &all) == CUDA_SUCCESS) {
      request.free_bytes = left;
      request.all_bytes = all;
    }
    return fail(gpu_memory_refusal(request));
  }
  BLKSWEEP_CHECK(cuda_result(err, fmt::format("cuMemAlloc of {}", format_bytes({bytes}))));
  // NOLINTNEXTLINE(performance-no-int-to-ptr): never followed here
  return reinterpret_cast<void*>(raw);
}

Result<PinnedMemory> pinned_memory(std::size_t bytes) {
  void* raw = nullptr;
  const CUresult err = cuda_driver().host_alloc(&raw, std::max<std::size_t>(1, bytes), 0);
  const std::string what =
      fmt::format("cuMemHostAlloc of {} (use --staging pinned or pageable, or a smaller --batch)",
                  format_bytes({bytes}));
  BLKSWEEP_CHECK(cuda_result(err, what));
  return PinnedMemory(raw);
}

Result<> register_host(void* begin, std::size_t bytes) {
  const CudaDriver& cuda = cuda_driver();
  CUdevice device = 0;
  BLKSWEEP_CHECK(cuda_result(cuda.context_device(&device), "cuCtxGetDevice"));
  if (attribute_of(device, CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM) == 0) {
    return fail(
        "this GPU cannot read registered memory by the host's addresses: use --staging "
        "pageable or per-batch");
  }
  return cuda_result(
      cuda.host_register(begin, bytes, 0),
      fmt::format("cuMemHostRegister of {} (use a smaller --window, or --staging pageable)",
                  format_bytes({bytes})));
}

}  // namespace blksweep
