// DeviceHash: is a batch in the GPU's memory what it is in ours? (--verify)
//
// Threads: one owner; work runs on a stream of its own and is waited for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "stage/copy_stage.h"
#include "stage/cuda/device_cuda.h"

namespace blksweep {

class DeviceHash {
 public:
  static Result<std::unique_ptr<DeviceHash>> make(std::size_t most_parts);
  ~DeviceHash();
  DeviceHash(const DeviceHash&) = delete;
  DeviceHash& operator=(const DeviceHash&) = delete;
  // `batch` in the GPU's memory: the parts one behind the other. Writes 1 where they differ.
  Result<> compare(const std::byte* batch, std::span<const BatchPart> parts,
                   std::span<std::uint8_t> wrong);

 private:
  DeviceHash() = default;
  Stream stream_;
  DeviceMemory<std::uint64_t> device_begin_, device_hash_;
  std::vector<std::uint64_t> begin_, hash_;
};

}  // namespace blksweep
