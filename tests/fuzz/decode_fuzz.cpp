// Arbitrary bytes as a packed sample: as they are, with the header's check made right, and with all
// of the header made to fit, so that the libraries' decoders see the payload.

#include <xxhash.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "codec/codec.h"

namespace {

using blksweep::kSampleHeaderBytes;

constexpr std::uint64_t kMostDecoded = std::uint64_t{1} << 20;  // keeps the fuzzer's memory small

void try_decode(const std::vector<std::byte>& stored) {
  const auto header = blksweep::read_header(stored, stored.size());
  if (!header || header->decoded_bytes > kMostDecoded) {
    return;
  }
  // Exactly the decoded size on the heap: a byte too many is seen by ASan.
  std::vector<std::byte> out(header->decoded_bytes);
  const auto payload = std::span(stored).subspan(kSampleHeaderBytes);
  const auto done = blksweep::Decoder().decode(*header, payload, out);
  if (done && XXH3_64bits(out.data(), out.size()) != header->decoded_hash) {
    std::abort();
  }
}

template <class T>
T at(const std::vector<std::byte>& bytes, std::size_t offset) {
  T value{};
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

void repair_check(std::vector<std::byte>& stored) {
  std::memset(stored.data() + 12, 0, 4);
  const auto check = static_cast<std::uint32_t>(XXH3_64bits(stored.data(), kSampleHeaderBytes));
  std::memcpy(stored.data() + 12, &check, sizeof check);
}

void fit_header(std::vector<std::byte>& stored) {
  const auto codec = static_cast<blksweep::Codec>(at<std::uint8_t>(stored, 8) % 4);
  const std::uint64_t payload = stored.size() - kSampleHeaderBytes;
  const std::uint64_t decoded =
      codec == blksweep::Codec::none ? payload : at<std::uint64_t>(stored, 16) % kMostDecoded;
  const auto header = blksweep::header_bytes({codec, blksweep::ElementType::raw, decoded,
                                              at<std::uint64_t>(stored, 24), payload, decoded});
  std::memcpy(stored.data(), header.data(), header.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::byte> stored(size);
  if (size < kSampleHeaderBytes) {
    try_decode(stored);
    return 0;
  }
  std::memcpy(stored.data(), data, size);
  try_decode(stored);
  repair_check(stored);
  try_decode(stored);
  fit_header(stored);
  try_decode(stored);
  return 0;
}
