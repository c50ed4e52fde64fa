// CudaDriver: the driver API of libcuda.so.1, looked up when it is first asked for.
//
// No CUDA library is linked, so one program runs with every driver that has these calls. cuda.h
// gives types, and renames calls to the newest version of their interface that it knows; here each
// has the version that drivers have had since CUDA 11.0.
//
// Errors:  `refusal` says why nothing may be called; otherwise a pointer is nullptr only where it
//          is said to be optional.
// Threads: any; all calls of the driver are safe.
// Source:  CUDA Driver API reference; cuda.h of CUDA 13.0.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <string>

namespace blksweep {

// X(member, call, version of its interface, parameters).
// clang-format off
#define BLKSWEEP_CUDA_CALLS(X)                                                                     \
  X(init, cuInit, "", unsigned)                                                                    \
  X(driver_version, cuDriverGetVersion, "", int*)                                                  \
  X(error_name, cuGetErrorName, "", CUresult, const char**)                                        \
  X(error_string, cuGetErrorString, "", CUresult, const char**)                                    \
  X(device_count, cuDeviceGetCount, "", int*)                                                      \
  X(device_get, cuDeviceGet, "", CUdevice*, int)                                                   \
  X(device_name, cuDeviceGetName, "", char*, int, CUdevice)                                        \
  X(device_memory, cuDeviceTotalMem, "_v2", std::size_t*, CUdevice)                                \
  X(device_attribute, cuDeviceGetAttribute, "", int*, CUdevice_attribute, CUdevice)                \
  X(device_pci, cuDeviceGetPCIBusId, "", char*, int, CUdevice)                                     \
  X(context_retain, cuDevicePrimaryCtxRetain, "", CUcontext*, CUdevice)                            \
  X(context_use, cuCtxSetCurrent, "", CUcontext)                                                   \
  X(context_device, cuCtxGetDevice, "", CUdevice*)                                                 \
  X(context_wait, cuCtxSynchronize, "", void)                                                      \
  X(module_load, cuModuleLoadDataEx, "", CUmodule*, const void*, unsigned, CUjit_option*, void**)  \
  X(module_function, cuModuleGetFunction, "", CUfunction*, CUmodule, const char*)                  \
  X(launch, cuLaunchKernel, "", CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned,      \
    unsigned, unsigned, CUstream, void**, void**)                                                  \
  X(stream_create, cuStreamCreate, "", CUstream*, unsigned)                                        \
  X(stream_destroy, cuStreamDestroy, "_v2", CUstream)                                              \
  X(stream_wait, cuStreamSynchronize, "", CUstream)                                                \
  X(stream_wait_event, cuStreamWaitEvent, "", CUstream, CUevent, unsigned)                         \
  X(event_create, cuEventCreate, "", CUevent*, unsigned)                                           \
  X(event_destroy, cuEventDestroy, "_v2", CUevent)                                                 \
  X(event_record, cuEventRecord, "", CUevent, CUstream)                                            \
  X(event_query, cuEventQuery, "", CUevent)                                                        \
  X(event_wait, cuEventSynchronize, "", CUevent)                                                   \
  X(event_elapsed, cuEventElapsedTime, "", float*, CUevent, CUevent)                               \
  X(memory_alloc, cuMemAlloc, "_v2", CUdeviceptr*, std::size_t)                                    \
  X(memory_free, cuMemFree, "_v2", CUdeviceptr)                                                    \
  X(memory_left, cuMemGetInfo, "_v2", std::size_t*, std::size_t*)                                  \
  X(memory_set, cuMemsetD8, "_v2", CUdeviceptr, unsigned char, std::size_t)                        \
  X(host_alloc, cuMemHostAlloc, "", void**, std::size_t, unsigned)                                 \
  X(host_free, cuMemFreeHost, "", void*)                                                           \
  X(host_register, cuMemHostRegister, "_v2", void*, std::size_t, unsigned)                         \
  X(host_unregister, cuMemHostUnregister, "", void*)                                               \
  X(copy_to_device, cuMemcpyHtoDAsync, "_v2", CUdeviceptr, const void*, std::size_t, CUstream)     \
  X(copy_to_host, cuMemcpyDtoHAsync, "_v2", void*, CUdeviceptr, std::size_t, CUstream)
// clang-format on

struct CudaDriver {
#define BLKSWEEP_CUDA_MEMBER(member, call, version, ...) CUresult (*member)(__VA_ARGS__) = nullptr;
  BLKSWEEP_CUDA_CALLS(BLKSWEEP_CUDA_MEMBER)
#undef BLKSWEEP_CUDA_MEMBER
  // Optional: since CUDA 12.8, in this form, which later drivers keep beside a newer one. Addresses
  // are pointers here (CUdeviceptr in cuda.h); `attributes` are CUmemcpyAttributes, which an older
  // cuda.h does not know.
  CUresult (*copy_batch)(void* const* to, const void* const* from, const std::size_t* bytes,
                         std::size_t count, void* attributes, std::size_t* first_of_attributes,
                         std::size_t kinds, std::size_t* failed, CUstream stream) = nullptr;

  // Optional: since CUDA 11.4; the one before tells nothing of MIG.
  CUresult (*device_uuid)(CUuuid* uuid, CUdevice device) = nullptr;

  bool found = false;   // there is a libcuda.so.1
  std::string refusal;  // which calls it lacks; empty: none
};

// The library stays open until the process ends.
const CudaDriver& cuda_driver();

inline CUdeviceptr on_gpu(const void* p) { return reinterpret_cast<CUdeviceptr>(p); }

}  // namespace blksweep
