// The driver's calls for memory and copies.
#include <cstring>

#include "standin/call.h"

namespace standin {
namespace {

// A driver copies that much at once into its own buffers, wherever it comes from.
constexpr std::size_t kInlineBytes = std::size_t{64} << 10;

Ns copy_time(const Gpu& gpu, std::size_t bytes, const char* link) {
  return gpu.settings.ns("copy_latency") +
         static_cast<Ns>(static_cast<double>(bytes) / gpu.settings[link]);
}

struct Copy {
  const void* from;
  std::uintptr_t to;
  std::size_t bytes;
};

// To the GPU. From pinned memory it is read when the copy runs; otherwise now.
Operation to_device(Gpu& gpu, const Copy& c, bool pinned) {
  const Range source = range_of(c.from, c.bytes);
  const Range target{c.to, c.to + c.bytes};
  std::byte* const to = gpu.memory.bytes_of(target);
  const auto* const from = static_cast<const std::byte*>(c.from);
  std::vector<std::byte> then(from, from + c.bytes);
  Operation op;
  op.what = "copy";
  op.takes = copy_time(gpu, c.bytes, pinned ? "link" : "pageable_link");
  op.touches = {{target, true}};
  if (pinned) {
    op.sources = {source};
  }
  op.effect = [&gpu, source, to, pinned, then = std::move(then)] {
    if (!pinned) {
      std::memcpy(to, then.data(), then.size());
      return;
    }
    gpu.check_source(source, then);
    if (mapped(source)) {
      std::memcpy(to, reinterpret_cast<const void*>(source.begin), then.size());
    }
  };
  return op;
}

CUresult copy_one(Call& call, const Copy& c, Stream& stream) {
  Gpu& gpu = call.gpu;
  const Range source = range_of(c.from, c.bytes);
  if (gpu.memory.bytes_of({c.to, c.to + c.bytes}) == nullptr || !mapped(source)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const bool pinned = gpu.pinned.holds(source);
  if (!pinned && gpu.pinned.overlaps(source)) {
    return call.wrong("the source of a copy is pinned in part only");
  }
  if (!pinned && c.bytes > kInlineBytes && !gpu.settings.on("pageable")) {
    return call.wrong("the source of a copy is not pinned: the driver blocks");
  }
  gpu.issue(stream, to_device(gpu, c, pinned), call.begin);
  if (!pinned && c.bytes > kInlineBytes) {
    gpu.wait_idle(call.lock, &stream);
  }
  return CUDA_SUCCESS;
}

CUresult pin(Call& call, void* begin, std::size_t bytes) {
  const Range range = range_of(begin, bytes);
  if (begin == nullptr || bytes == 0 || !mapped(range)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (call.gpu.pinned.overlaps(range)) {
    return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  }
  call.gpu.pinned.add(range, Pin::registered);
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace standin

using standin::Call, standin::Operation, standin::Range;

// --- memory

CUresult standin_memory_alloc(CUdeviceptr* address, std::size_t bytes) {
  const Call call("cuMemAlloc");
  if (call) {
    return call.refused;
  }
  *address = call.gpu.memory.allocate(bytes, static_cast<std::size_t>(call.gpu.settings["memory"]));
  return *address == 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult standin_memory_free(CUdeviceptr address) {
  Call call("cuMemFree");
  call.gpu.wait_before_release(call.gpu.memory.allocation(address), "cuMemFree", call.lock);
  if (!call.gpu.memory.free(address)) {
    return call.wrong("memory of the GPU's that is not there is freed");
  }
  return call.refused;
}

CUresult standin_memory_left(std::size_t* left, std::size_t* all) {
  const Call call("cuMemGetInfo");
  *all = static_cast<std::size_t>(call.gpu.settings["memory"]);
  *left = *all - call.gpu.memory.used();
  return call.refused;
}

CUresult standin_memory_set(CUdeviceptr address, unsigned char value, std::size_t bytes) {
  const Call call("cuMemsetD8");
  if (call) {
    return call.refused;
  }
  std::byte* const to = call.gpu.memory.bytes_of({address, address + bytes});
  if (to == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::memset(to, value, bytes);
  return CUDA_SUCCESS;
}

CUresult standin_host_alloc(void** at, std::size_t bytes, unsigned /*flags*/) {
  const Call call("cuMemHostAlloc");
  if (call) {
    return call.refused;
  }
  *at = ::operator new (bytes, std::align_val_t{4096});
  call.gpu.pinned.add(standin::range_of(*at, bytes), standin::Pin::allocated);
  return CUDA_SUCCESS;
}

CUresult standin_host_free(void* begin) {
  Call call("cuMemFreeHost");
  const Range range = call.gpu.pinned.find(begin, standin::Pin::allocated);
  if (range.end == 0) {
    return call.wrong("pinned memory that is not there is freed");
  }
  call.gpu.wait_before_release(range, "cuMemFreeHost", call.lock);
  call.gpu.pinned.remove(range);
  ::operator delete (begin, std::align_val_t{4096});
  return call.refused;
}

CUresult standin_host_register(void* begin, std::size_t bytes, unsigned /*flags*/) {
  Call call("cuMemHostRegister");
  return call ? call.refused : standin::pin(call, begin, bytes);
}

CUresult standin_host_unregister(void* begin) {
  Call call("cuMemHostUnregister");
  const Range range = call.gpu.pinned.find(begin, standin::Pin::registered);
  if (range.end == 0) {
    return call.wrong("memory that is not registered is unregistered",
                      CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  }
  call.gpu.wait_before_release(range, "cuMemHostUnregister", call.lock);
  if (!standin::mapped(range)) {
    call.gpu.complain("registered memory was freed before it was unregistered");
  }
  call.gpu.pinned.remove(range);
  return call.refused;
}

// --- copies

CUresult standin_copy_to_device(CUdeviceptr to, const void* from, std::size_t bytes,
                                CUstream handle) {
  Call call("cuMemcpyHtoDAsync");
  if (call) {
    return call.refused;
  }
  standin::Stream* const stream = call.gpu.stream_of(handle);
  return stream == nullptr ? call.wrong("a copy on a stream that is not there")
                           : standin::copy_one(call, {from, to, bytes}, *stream);
}

CUresult standin_copy_to_host(void* to, CUdeviceptr from, std::size_t bytes, CUstream handle) {
  Call call("cuMemcpyDtoHAsync");
  if (call) {
    return call.refused;
  }
  standin::Stream* const stream = call.gpu.stream_of(handle);
  const Range source{from, from + bytes};
  std::byte* const here = call.gpu.memory.bytes_of(source);
  if (stream == nullptr || here == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Operation op;
  op.what = "copy to the host";
  op.takes = standin::copy_time(call.gpu, bytes, "link");
  op.touches = {{source, false}};
  op.effect = [to, here, bytes] { std::memcpy(to, here, bytes); };
  const bool pinned = call.gpu.pinned.holds(standin::range_of(to, bytes));
  call.gpu.issue(*stream, std::move(op), call.begin);
  if (!pinned) {
    call.gpu.wait_idle(call.lock, stream);
  }
  return CUDA_SUCCESS;
}

CUresult standin_copy_batch(void* const* to, const void* const* from, const std::size_t* bytes,
                            std::size_t count, void* /*attributes*/, std::size_t* first,
                            std::size_t kinds, std::size_t* failed, CUstream handle) {
  Call call("cuMemcpyBatchAsync");
  standin::Stream* const stream = call.gpu.stream_of(handle);
  if (call || !call.gpu.settings.on("batch")) {
    return call ? call.refused : CUDA_ERROR_NOT_SUPPORTED;
  }
  if (stream == nullptr || count == 0 || kinds != 1 || *first != 0) {
    return call.wrong("a batch of copies without a stream, copies or attributes");
  }
  for (std::size_t i = 0; i < count; ++i) {
    *failed = i;
    const auto target = reinterpret_cast<std::uintptr_t>(to[i]);
    if (const CUresult err = standin::copy_one(call, {from[i], target, bytes[i]}, *stream);
        err != CUDA_SUCCESS) {
      return err;
    }
  }
  return CUDA_SUCCESS;
}
