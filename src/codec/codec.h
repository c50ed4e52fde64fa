// Encoder and Decoder: a sample's bytes to what is stored of it, and back.
//
// The stored form is a SampleHeader and a payload (docs/pack-format.md). The same bytes, settings
// and library versions give the same stored bytes. A sample that a codec cannot make smaller is
// stored uncompressed, and its header says so.
//
// Ownership: each owns its library's contexts; buffers are the caller's.
// Errors:    decode() accepts arbitrary payloads and never writes outside `out`; what does not give
//            exactly the decoded bytes of the header (size and XXH3-64) is an Error.
// Threads:   one owner each; make one per thread.
// Source:    zstd 1.5, lz4 1.9, c-blosc 1.21 through their libraries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "codec/sample_header.h"

namespace blksweep {

struct EncodeSettings {
  Codec codec = Codec::none;
  ElementType dtype = ElementType::raw;
  int level = 0;  // 0: default_level(codec)
};
int default_level(Codec codec);
// A level that the codec does not have is a usage error that names those it has.
Result<> check_level(const EncodeSettings& settings);
// "zstd 1.5.4"; empty for none.
std::string library_of(Codec codec);

class Encoder {
 public:
  explicit Encoder(const EncodeSettings& settings);
  Encoder(Encoder&&) noexcept;
  ~Encoder();

  // Header and payload into `stored`, which grows when needed and is never shrunk; the header that
  // was written. A sample of fp16 whose size is no multiple of 4 is stored as raw.
  // REQUIRES: source.size() <= kMaxDecodedBytes.
  Result<SampleHeader> encode(std::span<const std::byte> source, std::vector<std::byte>& stored);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

class Decoder {
 public:
  Decoder();
  Decoder(Decoder&&) noexcept;
  ~Decoder();

  // REQUIRES: payload.size() == header.payload_bytes, out.size() == header.decoded_bytes.
  Result<> decode(const SampleHeader& header, std::span<const std::byte> payload,
                  std::span<std::byte> out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The decoded bytes are those that the header promises.
Result<> check_hash(const SampleHeader& header, std::span<const std::byte> decoded);

}  // namespace blksweep
