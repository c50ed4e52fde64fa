// The driver's calls but those for memory (memory_calls.cpp).
#include <algorithm>
#include <cstring>

#include "standin/call.h"
#include "standin/kernels.h"

namespace standin {
namespace {

bool device_known(const Gpu& gpu, CUdevice device) {
  return device >= 0 && device < gpu.settings.ns("devices");
}

CUresult give_text(const char* text, char* to, int room) {
  const std::size_t bytes = std::min(std::strlen(text), static_cast<std::size_t>(room) - 1);
  std::memcpy(to, text, bytes);
  to[bytes] = '\0';
  return CUDA_SUCCESS;
}

// nullptr, after a complaint: it is not there, or was never recorded.
std::shared_ptr<Event> passed_or_pending(Call& call, CUevent handle, const char* use) {
  auto event = call.gpu.event_of(handle);
  if (!event) {
    call.gpu.complain(std::string(use) + " of an event that is not there");
  } else if (event->recorded == 0) {
    call.gpu.complain(std::string(use) + " of an event that was not recorded");
    event.reset();
  }
  return event;
}

}  // namespace
}  // namespace standin

using standin::Call, standin::Needs, standin::Operation, standin::Range, standin::Gpu;

// --- the library and its devices

CUresult standin_init(unsigned /*flags*/) {
  const Call call("cuInit", Needs::nothing);
  if (call) {
    return call.refused;
  }
  return call.gpu.settings.on("devices") ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

CUresult standin_driver_version(int* version) {
  const Call call("cuDriverGetVersion", Needs::nothing);
  *version = static_cast<int>(call.gpu.settings.ns("driver"));
  return call.refused;
}

CUresult standin_error_name(CUresult err, const char** name) {
  *name = standin::error_words(err).first;
  return *name == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult standin_error_string(CUresult err, const char** words) {
  *words = standin::error_words(err).second;
  return *words == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult standin_device_count(int* count) {
  const Call call("cuDeviceGetCount", Needs::nothing);
  *count = static_cast<int>(call.gpu.settings.ns("devices"));
  return call.refused;
}

CUresult standin_device_get(CUdevice* device, int index) {
  const Call call("cuDeviceGet", Needs::nothing);
  *device = index;
  return standin::device_known(call.gpu, index) ? call.refused : CUDA_ERROR_INVALID_DEVICE;
}

CUresult standin_device_name(char* name, int room, CUdevice device) {
  const Call call("cuDeviceGetName", Needs::nothing);
  return standin::device_known(call.gpu, device) ? standin::give_text("Stand-in", name, room)
                                                 : CUDA_ERROR_INVALID_DEVICE;
}

CUresult standin_device_memory(std::size_t* bytes, CUdevice device) {
  const Call call("cuDeviceTotalMem", Needs::nothing);
  *bytes = static_cast<std::size_t>(call.gpu.settings["memory"]);
  return standin::device_known(call.gpu, device) ? call.refused : CUDA_ERROR_INVALID_DEVICE;
}

CUresult standin_device_attribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  const Call call("cuDeviceGetAttribute", Needs::nothing);
  const auto capability = static_cast<int>(call.gpu.settings.ns("capability"));
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      *value = 16;
      break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = capability / 10;
      break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      *value = capability % 10;
      break;
    case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
      *value = call.gpu.settings.on("host_pointers") ? 1 : 0;
      break;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  return standin::device_known(call.gpu, device) ? call.refused : CUDA_ERROR_INVALID_DEVICE;
}

CUresult standin_device_pci(char* text, int room, CUdevice device) {
  const Call call("cuDeviceGetPCIBusId", Needs::nothing);
  return standin::device_known(call.gpu, device) ? standin::give_text("0000:65:00.0", text, room)
                                                 : CUDA_ERROR_INVALID_DEVICE;
}

// Its last digit says whether it is a MIG instance of the GPU at that address, or the GPU.
CUresult standin_device_uuid(CUuuid* uuid, CUdevice device) {
  const Call call("cuDeviceGetUuid", Needs::nothing);
  *uuid = {};
  uuid->bytes[sizeof uuid->bytes - 1] = call.gpu.settings.on("mig") ? 2 : 1;
  return standin::device_known(call.gpu, device) ? call.refused : CUDA_ERROR_INVALID_DEVICE;
}

CUresult standin_context_retain(CUcontext* context, CUdevice device) {
  const Call call("cuDevicePrimaryCtxRetain", Needs::nothing);
  *context = reinterpret_cast<CUcontext>(&call.gpu);
  return standin::device_known(call.gpu, device) ? call.refused : CUDA_ERROR_INVALID_DEVICE;
}

CUresult standin_context_use(CUcontext context) {
  const Call call("cuCtxSetCurrent", Needs::nothing);
  standin::context_is_current = context != nullptr;
  return call.refused;
}

CUresult standin_context_device(CUdevice* device) {
  const Call call("cuCtxGetDevice");
  *device = 0;
  return call.refused;
}

CUresult standin_context_wait() {
  Call call("cuCtxSynchronize");
  if (call) {
    return call.refused;
  }
  call.gpu.wait_idle(call.lock);
  return static_cast<CUresult>(call.gpu.dead.load());
}

// --- kernels

CUresult standin_module_load(CUmodule* module, const void* image, unsigned /*count*/,
                             CUjit_option* /*options*/, void** /*values*/) {
  const Call call("cuModuleLoadDataEx");
  *module = reinterpret_cast<CUmodule>(&call.gpu);
  const bool ptx = std::strstr(static_cast<const char*>(image), ".version 6.0") != nullptr;
  return call || ptx ? call.refused : CUDA_ERROR_INVALID_PTX;
}

CUresult standin_module_function(CUfunction* function, CUmodule /*module*/, const char* name) {
  const Call call("cuModuleGetFunction");
  const standin::HostKernel* const kernel = standin::find_kernel(name);
  *function = reinterpret_cast<CUfunction>(const_cast<standin::HostKernel*>(kernel));
  return call || kernel != nullptr ? call.refused : CUDA_ERROR_NOT_FOUND;
}

CUresult standin_launch(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned tx,
                        unsigned ty, unsigned tz, unsigned /*shared*/, CUstream handle,
                        void** parameters, void** /*extra*/) {
  Call call("cuLaunchKernel");
  if (call) {
    return call.refused;
  }
  standin::Stream* const stream = call.gpu.stream_of(handle);
  if (stream == nullptr || function == nullptr) {
    return call.wrong("a launch on a stream, or of a kernel, that is not there",
                      CUDA_ERROR_INVALID_HANDLE);
  }
  const auto* const kernel = reinterpret_cast<const standin::HostKernel*>(function);
  const standin::Shape shape{gx, gy, gz, tx, ty, tz};
  call.gpu.issue(*stream, kernel->make(call.gpu, shape, parameters), call.begin);
  return CUDA_SUCCESS;
}

// --- streams and events

CUresult standin_stream_create(CUstream* handle, unsigned flags) {
  Call call("cuStreamCreate");
  if (call) {
    return call.refused;
  }
  if (flags != CU_STREAM_NON_BLOCKING) {
    return call.wrong("a stream that waits for the default stream");
  }
  call.gpu.streams.push_back(std::make_unique<standin::Stream>());
  *handle = reinterpret_cast<CUstream>(call.gpu.streams.back().get());
  return CUDA_SUCCESS;
}

CUresult standin_stream_destroy(CUstream handle) {
  Call call("cuStreamDestroy");
  Gpu& gpu = call.gpu;
  standin::Stream* const stream = gpu.stream_of(handle);
  if (stream == nullptr) {
    return call.wrong("a stream that is not there is destroyed", CUDA_ERROR_INVALID_HANDLE);
  }
  stream->closing = true;
  stream->fed.notify_one();
  if (stream->thread.joinable()) {
    call.lock.unlock();
    stream->thread.join();
    call.lock.lock();
  }
  std::erase_if(gpu.streams, [&](const auto& s) { return s.get() == stream; });
  return call.refused;
}

CUresult standin_stream_wait(CUstream handle) {
  Call call("cuStreamSynchronize");
  if (call) {
    return call.refused;
  }
  const standin::Stream* const stream = call.gpu.stream_of(handle);
  if (stream == nullptr) {
    return call.wrong("a wait for a stream that is not there", CUDA_ERROR_INVALID_HANDLE);
  }
  call.gpu.wait_idle(call.lock, stream);
  return static_cast<CUresult>(call.gpu.dead.load());
}

CUresult standin_stream_wait_event(CUstream handle, CUevent event, unsigned /*flags*/) {
  Call call("cuStreamWaitEvent");
  if (call) {
    return call.refused;
  }
  standin::Stream* const stream = call.gpu.stream_of(handle);
  Operation op;
  op.what = "wait";
  op.kind = Operation::Kind::wait;
  op.event = standin::passed_or_pending(call, event, "a stream's wait");
  if (stream == nullptr || !op.event) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  op.record = op.event->recorded;
  call.gpu.issue(*stream, std::move(op), call.begin);
  return CUDA_SUCCESS;
}

CUresult standin_event_create(CUevent* handle, unsigned flags) {
  const Call call("cuEventCreate");
  if (call) {
    return call.refused;
  }
  call.gpu.events.push_back(std::make_shared<standin::Event>());
  call.gpu.events.back()->timed = (flags & CU_EVENT_DISABLE_TIMING) == 0;
  *handle = reinterpret_cast<CUevent>(call.gpu.events.back().get());
  return CUDA_SUCCESS;
}

CUresult standin_event_destroy(CUevent handle) {
  Call call("cuEventDestroy");
  if (std::erase_if(call.gpu.events, [&](const auto& e) {
        return reinterpret_cast<CUevent>(e.get()) == handle;
      }) == 0) {
    return call.wrong("an event that is not there is destroyed", CUDA_ERROR_INVALID_HANDLE);
  }
  return call.refused;
}

CUresult standin_event_record(CUevent handle, CUstream stream_handle) {
  Call call("cuEventRecord");
  if (call) {
    return call.refused;
  }
  standin::Stream* const stream = call.gpu.stream_of(stream_handle);
  Operation op;
  op.what = "record";
  op.kind = Operation::Kind::record;
  op.event = call.gpu.event_of(handle);
  if (stream == nullptr || !op.event) {
    return call.wrong("an event or a stream that is not there is recorded",
                      CUDA_ERROR_INVALID_HANDLE);
  }
  op.record = ++op.event->recorded;
  call.gpu.issue(*stream, std::move(op), call.begin);
  return CUDA_SUCCESS;
}

CUresult standin_event_query(CUevent handle) {
  Call call("cuEventQuery");
  if (call) {
    return call.refused;
  }
  const auto event = standin::passed_or_pending(call, handle, "a query");
  if (!event || event->passed == event->recorded) {
    return CUDA_SUCCESS;
  }
  call.lock.unlock();  // who asks over and over leaves the streams' threads room
  std::this_thread::yield();
  return CUDA_ERROR_NOT_READY;
}

CUresult standin_event_wait(CUevent handle) {
  Call call("cuEventSynchronize");
  if (call) {
    return call.refused;
  }
  if (const auto event = standin::passed_or_pending(call, handle, "a wait"); event) {
    call.gpu.ended.wait(call.lock, [&] { return event->passed == event->recorded; });
  }
  return static_cast<CUresult>(call.gpu.dead.load());
}

CUresult standin_event_elapsed(float* ms, CUevent from, CUevent to) {
  Call call("cuEventElapsedTime");
  if (call) {
    return call.refused;
  }
  const auto first = standin::passed_or_pending(call, from, "the elapsed time");
  const auto last = standin::passed_or_pending(call, to, "the elapsed time");
  if (!first || !last || !first->timed || !last->timed) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  if (first->passed != first->recorded || last->passed != last->recorded) {
    return CUDA_ERROR_NOT_READY;
  }
  const standin::Ns ns = call.gpu.device_ns(last->at) - call.gpu.device_ns(first->at);
  *ms = static_cast<float>(static_cast<double>(ns) / 1e6);
  return CUDA_SUCCESS;
}
