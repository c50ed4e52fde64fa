#include "codec/codec.h"

#include <blosc.h>
#include <fmt/format.h>
#include <lz4.h>
#include <lz4hc.h>
#include <xxhash.h>
#include <zstd.h>

#include <algorithm>
#include <cassert>

#include "codec/half.h"

namespace blksweep {
namespace {

constexpr const char* kBloscInner = "lz4";
constexpr int kLz4FirstHc = 3;  // below: LZ4's fast mode, whose only level is 1

struct Levels {
  int least, most, usual;
};
constexpr std::array<Levels, 4> kLevels{{{0, 0, 0}, {1, 22, 3}, {1, 12, 1}, {1, 9, 5}}};

const Levels& levels_of(Codec codec) { return kLevels.at(static_cast<std::size_t>(codec)); }

struct ZstdFree {
  void operator()(ZSTD_CCtx* c) const { ZSTD_freeCCtx(c); }
  void operator()(ZSTD_DCtx* c) const { ZSTD_freeDCtx(c); }
};

int as_int(std::size_t n) { return static_cast<int>(n); }  // below 2^30 everywhere here

const char* chars(std::span<const std::byte> bytes) {
  return reinterpret_cast<const char*>(bytes.data());
}
char* chars(std::span<std::byte> bytes) { return reinterpret_cast<char*>(bytes.data()); }

// The whole payload must be one frame of the library, of exactly the decoded size.
bool decode_blosc(std::span<const std::byte> payload, std::span<std::byte> out) {
  std::size_t bytes = 0;
  return blosc_cbuffer_validate(payload.data(), payload.size(), &bytes) == 0 &&
         bytes == out.size() &&
         blosc_decompress_ctx(payload.data(), out.data(), out.size(), 1) == as_int(out.size());
}

bool decode_lz4(std::span<const std::byte> payload, std::span<std::byte> out) {
  return LZ4_decompress_safe(chars(payload), chars(out), as_int(payload.size()),
                             as_int(out.size())) == as_int(out.size());
}

}  // namespace

int default_level(Codec codec) { return levels_of(codec).usual; }

Result<> check_level(const EncodeSettings& s) {
  const Levels& l = levels_of(s.codec);
  if (s.level == 0 || (s.level >= l.least && s.level <= l.most)) {
    return {};
  }
  const std::string_view name = kCodecNames.at(static_cast<std::size_t>(s.codec));
  return s.codec == Codec::none
             ? usage_error("--level: there is no compression; choose one with --compress")
             : usage_error(
                   fmt::format("--level {}: {} has {} to {}", s.level, name, l.least, l.most));
}

std::string library_of(Codec codec) {
  switch (codec) {
    case Codec::none:
      return {};
    case Codec::zstd:
      return fmt::format("zstd {}", ZSTD_versionString());
    case Codec::lz4:
      return fmt::format("lz4 {}", LZ4_versionString());
    case Codec::blosc:
      break;
  }
  return fmt::format("blosc {} with {}", blosc_get_version_string(), kBloscInner);
}

struct Encoder::State {
  EncodeSettings settings;
  std::vector<std::byte> halves;
  std::unique_ptr<ZSTD_CCtx, ZstdFree> zstd;

  // Bytes that `to` received; 0: no room, or the codec failed.
  std::size_t compress(std::span<const std::byte> from, std::span<std::byte> to,
                       std::size_t width) {
    const int level = settings.level == 0 ? default_level(settings.codec) : settings.level;
    switch (settings.codec) {
      case Codec::none:
        return 0;
      case Codec::zstd: {
        const std::size_t n =
            ZSTD_compressCCtx(zstd.get(), to.data(), to.size(), from.data(), from.size(), level);
        return ZSTD_isError(n) != 0 ? 0 : n;
      }
      case Codec::lz4: {
        const int n = level < kLz4FirstHc
                          ? LZ4_compress_default(chars(from), chars(to), as_int(from.size()),
                                                 as_int(to.size()))
                          : LZ4_compress_HC(chars(from), chars(to), as_int(from.size()),
                                            as_int(to.size()), level);
        return static_cast<std::size_t>(std::max(0, n));
      }
      case Codec::blosc:
        break;
    }
    const int n = blosc_compress_ctx(level, BLOSC_SHUFFLE, width, from.size(), from.data(),
                                     to.data(), to.size(), kBloscInner, 0, 1);
    return static_cast<std::size_t>(std::max(0, n));
  }
};

Encoder::Encoder(const EncodeSettings& settings)
    : state_(std::make_unique<State>(State{
          settings,
          {},
          std::unique_ptr<ZSTD_CCtx, ZstdFree>(settings.codec == Codec::zstd ? ZSTD_createCCtx()
                                                                             : nullptr)})) {}
Encoder::Encoder(Encoder&&) noexcept = default;
Encoder::~Encoder() = default;

Result<SampleHeader> Encoder::encode(std::span<const std::byte> source,
                                     std::vector<std::byte>& stored) {
  assert(source.size() <= kMaxDecodedBytes);
  SampleHeader h;
  h.source_bytes = source.size();
  std::span<const std::byte> plain = source;
  if (state_->settings.dtype == ElementType::fp16 && source.size() % 4 == 0) {
    state_->halves.resize(std::max(state_->halves.size(), source.size() / 2));
    const std::span<std::byte> halves = std::span(state_->halves).first(source.size() / 2);
    floats_to_halves(source, halves);
    h.dtype = ElementType::fp16;
    plain = halves;
  }
  h.decoded_bytes = plain.size();
  h.decoded_hash = XXH3_64bits(plain.data(), plain.size());
  stored.resize(std::max(stored.size(), kSampleHeaderBytes + plain.size() + BLOSC_MAX_OVERHEAD));
  // Room for less than the sample only: what does not become smaller fails, and is stored as it is.
  const std::size_t room = plain.empty() ? 0 : plain.size() - 1;
  const std::span<std::byte> payload = std::span(stored).subspan(kSampleHeaderBytes);
  const std::size_t width = h.dtype == ElementType::fp16 ? 2 : 4;
  h.payload_bytes = room == 0 ? 0 : state_->compress(plain, payload.first(room), width);
  h.codec = state_->settings.codec;
  if (h.payload_bytes == 0) {
    h.codec = Codec::none;
    h.payload_bytes = plain.size();
    std::ranges::copy(plain, payload.begin());
  }
  std::ranges::copy(header_bytes(h), stored.begin());
  return h;
}

struct Decoder::State {
  std::unique_ptr<ZSTD_DCtx, ZstdFree> zstd{ZSTD_createDCtx()};
};

Decoder::Decoder() : state_(std::make_unique<State>()) {}
Decoder::Decoder(Decoder&&) noexcept = default;
Decoder::~Decoder() = default;

Result<> Decoder::decode(const SampleHeader& h, std::span<const std::byte> payload,
                         std::span<std::byte> out) {
  assert(payload.size() == h.payload_bytes && out.size() == h.decoded_bytes);
  bool whole = false;
  switch (h.codec) {
    case Codec::none:
      whole = payload.size() == out.size();
      std::ranges::copy(payload.first(whole ? out.size() : 0), out.begin());
      break;
    case Codec::zstd:
      whole = ZSTD_decompressDCtx(state_->zstd.get(), out.data(), out.size(), payload.data(),
                                  payload.size()) == out.size();
      break;
    case Codec::lz4:
      whole = decode_lz4(payload, out);
      break;
    case Codec::blosc:
      whole = decode_blosc(payload, out);
      break;
  }
  if (!whole) {
    return fail(fmt::format("its {} payload is damaged",
                            kCodecNames.at(static_cast<std::size_t>(h.codec))));
  }
  return check_hash(h, out);
}

Result<> check_hash(const SampleHeader& h, std::span<const std::byte> decoded) {
  const std::uint64_t hash = XXH3_64bits(decoded.data(), decoded.size());
  return hash == h.decoded_hash ? Result<>{}
                                : fail(fmt::format("decoded to {:016x}, its header says {:016x}",
                                                   hash, h.decoded_hash));
}

}  // namespace blksweep
