#include "codec/codec.h"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "base/rng.h"
#include "codec/half.h"

namespace blksweep {
namespace {

using Buffer = std::vector<std::byte>;

enum class Kind { random, compressible };

Buffer sample_of(std::size_t size, Kind kind) {
  Buffer out(size);
  Rng rng(size + 1);
  for (std::size_t i = 0; i < size; ++i) {
    out[i] = std::byte(kind == Kind::random ? rng.next() & 0xFF : (i / 64) & 0x0F);
  }
  return out;
}

struct Stored {
  SampleHeader header;
  Buffer bytes;
};

Stored encode(const EncodeSettings& settings, const Buffer& source) {
  Stored s;
  auto header = Encoder(settings).encode(source, s.bytes);
  EXPECT_TRUE(header) << header.error().message();
  s.header = *header;
  s.bytes.resize(kSampleHeaderBytes + s.header.payload_bytes);
  return s;
}

Result<Buffer> decode(std::span<const std::byte> stored) {
  BLKSWEEP_TRY(const SampleHeader h, read_header(stored, stored.size()));
  Buffer out(h.decoded_bytes);
  BLKSWEEP_CHECK(Decoder().decode(h, stored.subspan(kSampleHeaderBytes), out));
  return out;
}

// The header with its check made right again, as somebody who forges one would.
void repair(Buffer& stored) {
  std::memset(stored.data() + 12, 0, 4);
  const auto check = static_cast<std::uint32_t>(XXH3_64bits(stored.data(), kSampleHeaderBytes));
  std::memcpy(stored.data() + 12, &check, sizeof check);
}

class CodecTest : public ::testing::TestWithParam<std::tuple<Codec, ElementType>> {
 protected:
  EncodeSettings settings_{std::get<0>(GetParam()), std::get<1>(GetParam()), 0};
};

TEST_P(CodecTest, GivesBackTheSameBytes) {
  for (const std::size_t size : {0UL, 1UL, 4UL, 4095UL, 4096UL, 3UL << 20}) {
    for (const Kind kind : {Kind::random, Kind::compressible}) {
      const Buffer source = sample_of(size, kind);
      const Stored stored = encode(settings_, source);
      auto decoded = decode(stored.bytes);
      ASSERT_TRUE(decoded) << size << ": " << decoded.error().message();
      if (stored.header.dtype == ElementType::raw) {
        EXPECT_EQ(*decoded, source) << size;
      } else {
        Buffer halves(size / 2);
        floats_to_halves(source, halves);
        EXPECT_EQ(*decoded, halves) << size;
      }
    }
  }
}

TEST_P(CodecTest, MakesCompressibleSamplesSmallerAndNoneLarger) {
  const bool compresses = settings_.codec != Codec::none;
  const Stored easy = encode(settings_, sample_of(65536, Kind::compressible));
  EXPECT_EQ(easy.header.payload_bytes < easy.header.decoded_bytes / 4, compresses);
  const Stored hard = encode(settings_, sample_of(65535, Kind::random));  // odd: stays raw
  EXPECT_EQ(hard.header.codec, Codec::none);
  EXPECT_EQ(hard.header.payload_bytes, hard.header.decoded_bytes);
}

// What does not become smaller is stored as it is, so that nobody decodes for nothing. Of samples
// of a random part and of more and more that was there before, each codec makes some larger, some
// equal and some a little smaller.
TEST_P(CodecTest, StoresAsItIsWhatDoesNotBecomeSmaller) {
  std::set<std::size_t> saved;
  for (const std::size_t part : {1UL, 37UL, 41UL, 43UL}) {
    const Buffer random = sample_of(part, Kind::random);
    Buffer source = random;
    for (std::size_t again = 0; again <= 100; ++again) {
      const SampleHeader h = encode(settings_, source).header;
      EXPECT_EQ(h.codec == Codec::none, h.payload_bytes == h.decoded_bytes) << part << ' ' << again;
      EXPECT_LE(h.payload_bytes, h.decoded_bytes) << part << ' ' << again;
      saved.insert(h.decoded_bytes - h.payload_bytes);
      source.push_back(random[again % part]);
    }
  }
  const bool raw = settings_.dtype == ElementType::raw;
  if (raw && settings_.codec == Codec::lz4) {
    EXPECT_TRUE(saved.contains(2)) << "it wants room for one byte more than it writes";
  }
  if (raw && settings_.codec == Codec::blosc) {
    EXPECT_TRUE(saved.contains(1));
  }
}

TEST_P(CodecTest, StoresNothingAsNothing) {
  const SampleHeader h = encode(settings_, {}).header;
  EXPECT_EQ(h.codec, Codec::none);
  EXPECT_EQ(h.payload_bytes, 0U);
}

TEST_P(CodecTest, RefusesEveryDamagedByte) {
  const Buffer source = sample_of(300, Kind::compressible);
  const Stored stored = encode(settings_, source);
  const Buffer whole = *decode(stored.bytes);
  for (std::size_t i = 0; i < stored.bytes.size(); ++i) {
    Buffer bytes = stored.bytes;
    bytes[i] ^= std::byte{0x10};
    const auto decoded = decode(bytes);
    // Blosc and lz4 have bytes that mean nothing; what comes out is right or refused.
    EXPECT_TRUE(!decoded || *decoded == whole) << "byte " << i;
    EXPECT_TRUE(!decoded || i >= kSampleHeaderBytes) << "byte " << i << " of the header";
  }
}

TEST_P(CodecTest, RefusesEveryTruncation) {
  const Stored stored = encode(settings_, sample_of(300, Kind::compressible));
  for (std::size_t n = 0; n < stored.bytes.size(); ++n) {
    EXPECT_FALSE(decode(std::span(stored.bytes).first(n))) << n;
  }
}

TEST_P(CodecTest, DependsOnTheInputOnly) {
  Encoder used(settings_);
  Buffer first, second;
  const Buffer source = sample_of(100000, Kind::compressible);
  ASSERT_TRUE(used.encode(sample_of(5000, Kind::random), first));
  ASSERT_TRUE(used.encode(source, first));
  ASSERT_TRUE(Encoder(settings_).encode(source, second));
  const std::size_t n = read_header(first, encode(settings_, source).bytes.size())->payload_bytes;
  EXPECT_EQ(XXH3_64bits(first.data(), n + 48), XXH3_64bits(second.data(), n + 48));
}

INSTANTIATE_TEST_SUITE_P(All, CodecTest,
                         ::testing::Combine(::testing::Values(Codec::none, Codec::zstd, Codec::lz4,
                                                              Codec::blosc),
                                            ::testing::Values(ElementType::raw, ElementType::fp16)),
                         [](const auto& p) {
                           return std::string(kCodecNames[std::size_t(std::get<0>(p.param))]) +
                                  "_" +
                                  std::string(kElementNames[std::size_t(std::get<1>(p.param))]);
                         });

TEST(SampleHeader, ForgedSizesAreRefusedBeforeAnythingIsAllocated) {
  Stored stored = encode({Codec::zstd, ElementType::raw, 0}, sample_of(4096, Kind::compressible));
  for (const std::uint64_t size : {kMaxDecodedBytes + 1, ~std::uint64_t{0}}) {
    std::memcpy(stored.bytes.data() + 16, &size, 8);
    std::memcpy(stored.bytes.data() + 40, &size, 8);
    repair(stored.bytes);
    const auto header = read_header(stored.bytes, stored.bytes.size());
    ASSERT_FALSE(header);
    EXPECT_NE(header.error().message().find("1 GiB"), std::string::npos);
  }
}

TEST(SampleHeader, ForgedSizeBelowTheLimitIsRefusedByTheDecoder) {
  for (const Codec codec : {Codec::zstd, Codec::lz4, Codec::blosc}) {
    Stored stored = encode({codec, ElementType::raw, 0}, sample_of(4096, Kind::compressible));
    for (const std::uint64_t size : {0UL, 1UL, 4095UL, 4097UL, 1UL << 20}) {
      std::memcpy(stored.bytes.data() + 16, &size, 8);
      std::memcpy(stored.bytes.data() + 40, &size, 8);
      repair(stored.bytes);
      EXPECT_FALSE(decode(stored.bytes)) << size;
    }
  }
}

TEST(SampleHeader, HasTheBytesOfItsDocument) {
  const auto bytes = header_bytes({Codec::zstd, ElementType::fp16, 2, 0x1122334455667788, 3, 4});
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  EXPECT_EQ(text.substr(0, 12), std::string("BLKSPAK1\1\1\0\0", 12));
  EXPECT_EQ(text.substr(16), std::string("\2\0\0\0\0\0\0\0\x88\x77\x66\x55\x44\x33\x22\x11"
                                         "\3\0\0\0\0\0\0\0\4\0\0\0\0\0\0\0",
                                         32));
}

TEST(Codec, LevelsAreThoseOfTheLibrary) {
  EXPECT_TRUE(check_level({Codec::zstd, ElementType::raw, 22}));
  EXPECT_TRUE(check_level({Codec::zstd, ElementType::raw, 1}));
  EXPECT_FALSE(check_level({Codec::zstd, ElementType::raw, -1}));
  const auto beyond = check_level({Codec::zstd, ElementType::raw, 23});
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().text, "--level 23: zstd has 1 to 22");
  EXPECT_FALSE(check_level({Codec::blosc, ElementType::raw, 10}));
  EXPECT_FALSE(check_level({Codec::none, ElementType::raw, 1}));
}

double value_of(std::uint16_t half) {
  const int exponent = (half >> 10) & 31;
  const double mantissa = half & 1023;
  const double m =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return (half & 0x8000) != 0 ? -m : m;
}

TEST(Half, EveryHalfComesBackFromItsFloat) {
  for (std::uint32_t h = 0; h < 0x7C00; ++h) {
    const auto bits =
        std::bit_cast<std::uint32_t>(static_cast<float>(value_of(static_cast<std::uint16_t>(h))));
    EXPECT_EQ(half_of(bits), h);
    EXPECT_EQ(half_of(bits | 0x80000000U), h | 0x8000);
  }
}

// Between two neighbours the nearer one wins, and the even one of two that are as near.
TEST(Half, RoundsToTheNearestAndTiesToEven) {
  for (std::uint32_t h = 0; h + 1 < 0x7C00; ++h) {
    const double low = value_of(static_cast<std::uint16_t>(h));
    const double high = value_of(static_cast<std::uint16_t>(h + 1));
    const auto middle = static_cast<float>((low + high) / 2);  // exact: 12 bits of mantissa
    const std::uint32_t even = h % 2 == 0 ? h : h + 1;
    EXPECT_EQ(half_of(std::bit_cast<std::uint32_t>(middle)), even) << h;
    EXPECT_EQ(half_of(std::bit_cast<std::uint32_t>(std::nextafter(middle, -1.0F))), h);
    EXPECT_EQ(half_of(std::bit_cast<std::uint32_t>(std::nextafter(middle, 1e9F))), h + 1);
  }
}

TEST(Half, OfAnArrayIsThatOfEachNumber) {
  const std::array<float, 4> floats{1, -2.5, 1e-3F, 70000};
  std::array<std::uint16_t, 4> halves{};
  floats_to_halves(std::as_bytes(std::span(floats)), std::as_writable_bytes(std::span(halves)));
  for (std::size_t i = 0; i < floats.size(); ++i) {
    EXPECT_EQ(halves.at(i), half_of(std::bit_cast<std::uint32_t>(floats.at(i)))) << i;
  }
}

TEST(Half, KeepsWhatIsNoOrdinaryNumber) {
  const auto of = [](float f) { return half_of(std::bit_cast<std::uint32_t>(f)); };
  EXPECT_EQ(of(std::numeric_limits<float>::infinity()), 0x7C00);
  EXPECT_EQ(of(-std::numeric_limits<float>::infinity()), 0xFC00);
  EXPECT_EQ(of(65519.99F), 0x7BFF);
  EXPECT_EQ(of(65520.0F), 0x7C00);
  EXPECT_EQ(of(1e30F), 0x7C00);
  EXPECT_EQ(of(1e-30F), 0);
  EXPECT_EQ(of(-1e-30F), 0x8000);
  EXPECT_GT(of(std::numeric_limits<float>::quiet_NaN()) & 0x7FFF, 0x7C00);
  EXPECT_GT(half_of(0x7F800001) & 0x7FFF, 0x7C00);  // a NaN whose payload would vanish
}

}  // namespace
}  // namespace blksweep
