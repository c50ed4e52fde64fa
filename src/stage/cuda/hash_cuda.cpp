#include "stage/cuda/hash_cuda.h"

#include "stage/cuda/kernels_cuda.h"
#include "stage/part_hash.h"

namespace blksweep {

Result<std::unique_ptr<DeviceHash>> DeviceHash::make(std::size_t most_parts) {
  std::unique_ptr<DeviceHash> h(new DeviceHash());
  BLKSWEEP_TRY(h->stream_, make_stream());
  const MemoryUse use{"the hashes of --verify", "use a smaller --batch, or leave --verify out"};
  BLKSWEEP_TRY(h->device_begin_, device_memory<std::uint64_t>(most_parts + 1, use));
  BLKSWEEP_TRY(h->device_hash_, device_memory<std::uint64_t>(most_parts, use));
  h->begin_.reserve(most_parts + 1);
  h->hash_.reserve(most_parts);
  return h;
}

// A kernel may run that was not waited for because of an error.
DeviceHash::~DeviceHash() {
  if (stream_) {
    cuda_driver().stream_wait(stream_.get());
  }
}

Result<> DeviceHash::compare(const std::byte* batch, std::span<const BatchPart> parts,
                             std::span<std::uint8_t> wrong) {
  if (parts.empty()) {
    return {};
  }
  begin_.assign(1, 0);
  for (const BatchPart& part : parts) {
    begin_.push_back(begin_.back() + part.bytes);
  }
  hash_.resize(parts.size());
  const auto* const data = reinterpret_cast<const unsigned char*>(batch);
  CUstream stream = stream_.get();
  BLKSWEEP_CHECK(
      cuda_result(cuda_driver().copy_to_device(on_gpu(device_begin_.get()), begin_.data(),
                                               begin_.size() * sizeof(std::uint64_t), stream),
                  "cuMemcpyHtoDAsync of the places to hash"));
  BLKSWEEP_CHECK(cuda_result(launch_hash({data, device_begin_.get(),
                                          static_cast<unsigned>(parts.size()), device_hash_.get()},
                                         stream),
                             "hashing on the GPU"));
  BLKSWEEP_CHECK(
      cuda_result(cuda_driver().copy_to_host(hash_.data(), on_gpu(device_hash_.get()),
                                             hash_.size() * sizeof(std::uint64_t), stream),
                  "cuMemcpyDtoHAsync of the hashes"));
  BLKSWEEP_CHECK(cuda_result(cuda_driver().stream_wait(stream), "hashing on the GPU"));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto* const here = reinterpret_cast<const unsigned char*>(parts[i].data);
    wrong[i] = hash_[i] == part_hash(here, parts[i].bytes) ? 0 : 1;
  }
  return {};
}

}  // namespace blksweep
