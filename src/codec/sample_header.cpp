#include "codec/sample_header.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <cstring>

namespace blksweep {
namespace {

constexpr std::array<char, 8> kMagic{'B', 'L', 'K', 'S', 'P', 'A', 'K', '1'};

struct Layout {  // the bytes as they lie in the file, little endian
  std::array<char, 8> magic;
  std::uint8_t codec;
  std::uint8_t dtype;
  std::uint16_t reserved;  // 0
  std::uint32_t check;     // low half of XXH3-64 of the header with this field 0
  std::uint64_t decoded_bytes;
  std::uint64_t decoded_hash;
  std::uint64_t payload_bytes;
  std::uint64_t source_bytes;
};
static_assert(sizeof(Layout) == kSampleHeaderBytes);

std::uint32_t check_of(Layout l) {
  l.check = 0;
  return static_cast<std::uint32_t>(XXH3_64bits(&l, sizeof l));
}

// What cannot be although the check is right: made by something else, or forged.
std::string_view contradiction(const Layout& l, std::uint64_t stored_bytes) {
  if (l.codec >= kCodecNames.size() || l.dtype >= kElementNames.size() || l.reserved != 0) {
    return "a codec or type that this version does not know (packed by a later version?)";
  }
  if (l.decoded_bytes > kMaxDecodedBytes) {
    return "more than 1 GiB when decoded";
  }
  if (l.payload_bytes != stored_bytes - kSampleHeaderBytes) {
    return "stored with another length than its header says (truncated?)";
  }
  const bool fp16 = l.dtype == static_cast<std::uint8_t>(ElementType::fp16);
  if (l.source_bytes != (fp16 ? 2 : 1) * l.decoded_bytes) {
    return "sizes of source and decoded sample that do not agree";
  }
  if (l.codec == 0 && l.payload_bytes != l.decoded_bytes) {
    return "an uncompressed payload of another size than the sample";
  }
  return {};
}

}  // namespace

std::array<std::byte, kSampleHeaderBytes> header_bytes(const SampleHeader& h) {
  Layout l{kMagic,
           static_cast<std::uint8_t>(h.codec),
           static_cast<std::uint8_t>(h.dtype),
           0,
           0,
           h.decoded_bytes,
           h.decoded_hash,
           h.payload_bytes,
           h.source_bytes};
  l.check = check_of(l);
  std::array<std::byte, kSampleHeaderBytes> out{};
  std::memcpy(out.data(), &l, sizeof l);
  return out;
}

Result<SampleHeader> read_header(std::span<const std::byte> bytes, std::uint64_t stored_bytes,
                                 std::uint64_t indexed_bytes) {
  if (bytes.size() < kSampleHeaderBytes || stored_bytes < kSampleHeaderBytes) {
    return fail(fmt::format("{} bytes are too few for a packed sample", stored_bytes));
  }
  Layout l{};
  std::memcpy(&l, bytes.data(), sizeof l);
  if (l.magic != kMagic) {
    return fail("not a packed sample (pack it with: blksweep dataset pack)");
  }
  if (l.check != check_of(l)) {
    return fail("damaged header (its check does not match)");
  }
  if (const std::string_view why = contradiction(l, stored_bytes); !why.empty()) {
    return fail(fmt::format("header says {}", why));
  }
  if (l.decoded_bytes > indexed_bytes) {
    return fail(
        fmt::format("decodes to {} bytes, the index of its data set says {} (changed after "
                    "it was packed?)",
                    l.decoded_bytes, indexed_bytes));
  }
  return SampleHeader{static_cast<Codec>(l.codec),
                      static_cast<ElementType>(l.dtype),
                      l.decoded_bytes,
                      l.decoded_hash,
                      l.payload_bytes,
                      l.source_bytes};
}

}  // namespace blksweep
