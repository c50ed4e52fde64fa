#include "trace/trace_column.h"

#include <zstd.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace blksweep {
namespace {

constexpr int kLevel = 3;
constexpr std::size_t kWordBytes = 8;

enum class Coding : std::uint8_t { frame, delta };  // over the least value | over the one before

// As stored before each column's bytes.
struct ColumnHead {
  std::uint8_t planes;  // 0: all values are `base`
  std::uint8_t shift;
  std::uint8_t coding;
  std::uint8_t reserved;
  std::uint32_t stored_bytes;
  std::uint64_t base;
};
static_assert(sizeof(ColumnHead) == 16);

using Words = std::vector<std::uint64_t>;

struct Packed {
  ColumnHead head{};
  std::string bytes;
};

std::uint64_t zigzag(std::uint64_t difference) {
  return (difference << 1) ^ (0 - (difference >> 63));
}
std::uint64_t unzigzag(std::uint64_t v) { return (v >> 1) ^ (0 - (v & 1)); }

Words over_the_least(const Words& values, std::uint64_t base) {
  Words out(values.size());
  std::ranges::transform(values, out.begin(), [base](std::uint64_t v) { return v - base; });
  return out;
}

Words over_the_one_before(const Words& values) {
  Words out(values.size());
  std::uint64_t before = values.front();
  for (std::size_t i = 0; i < values.size(); ++i) {
    out[i] = zigzag(values[i] - before);
    before = values[i];
  }
  return out;
}

// Takes the shared zero bits off and turns words into planes.
void to_planes(Words& words, ColumnHead& head, std::vector<char>& planes) {
  std::uint64_t all = 0;
  for (const std::uint64_t w : words) {
    all |= w;
  }
  head.shift = all == 0 ? 0 : static_cast<std::uint8_t>(std::countr_zero(all));
  head.planes = static_cast<std::uint8_t>((std::bit_width(all >> head.shift) + 7) / 8);
  planes.resize(words.size() * head.planes);
  for (std::uint8_t p = 0; p < head.planes; ++p) {
    char* plane = planes.data() + words.size() * p;
    for (std::size_t i = 0; i < words.size(); ++i) {
      plane[i] = static_cast<char>(words[i] >> (head.shift + 8U * p));
    }
  }
}

// No plane: nothing is stored. `plane` is widened by the compiler where it can.
void add_plane(const std::uint8_t* plane, unsigned bits, Words& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    words[i] |= static_cast<std::uint64_t>(plane[i]) << bits;
  }
}

Result<> check_column(const ColumnHead& h, std::size_t body_left) {
  if (h.planes > kWordBytes || h.shift > 63 || h.coding > 1 || h.reserved != 0 ||
      h.shift + 8U * h.planes > 64U + 7U || h.stored_bytes > body_left) {
    return fail("is not what a column may be");
  }
  return {};
}

}  // namespace

struct ColumnCoder::State {
  State() : compress(ZSTD_createCCtx()), decompress(ZSTD_createDCtx()) {}
  ~State() {
    ZSTD_freeCCtx(compress);
    ZSTD_freeDCtx(decompress);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  ZSTD_CCtx* compress;
  ZSTD_DCtx* decompress;
  Words words;
  std::vector<char> planes;

  void append(std::string_view plain, std::string& out) {
    const std::size_t at = out.size();
    out.resize(at + ZSTD_compressBound(plain.size()));
    out.resize(at + ZSTD_compressCCtx(compress, out.data() + at, out.size() - at, plain.data(),
                                      plain.size(), kLevel));
  }

  Packed packed(const Words& values, Coding coding) {
    Packed out;
    out.head.coding = static_cast<std::uint8_t>(coding);
    out.head.base = coding == Coding::frame ? *std::ranges::min_element(values) : values.front();
    words = coding == Coding::frame ? over_the_least(values, out.head.base)
                                    : over_the_one_before(values);
    to_planes(words, out.head, planes);
    if (out.head.planes > 0) {
      append({planes.data(), planes.size()}, out.bytes);
    }
    out.head.stored_bytes = static_cast<std::uint32_t>(out.bytes.size());
    return out;
  }
};

namespace {

void restore(const ColumnHead& head, Words& values) {
  std::uint64_t at = head.base;
  if (static_cast<Coding>(head.coding) == Coding::frame) {
    for (std::uint64_t& v : values) {
      v = at + (v << head.shift);
    }
    return;
  }
  for (std::uint64_t& v : values) {
    v = at += unzigzag(v << head.shift);
  }
}

}  // namespace

ColumnCoder::ColumnCoder() : state_(std::make_unique<State>()) {}
ColumnCoder::ColumnCoder(ColumnCoder&&) noexcept = default;
ColumnCoder::~ColumnCoder() = default;

void ColumnCoder::compress(std::string_view plain, std::string& out) { state_->append(plain, out); }

void ColumnCoder::append(const Words& values, std::string& out) {
  Packed best = state_->packed(values, Coding::frame);
  if (best.head.planes > 0) {
    if (Packed other = state_->packed(values, Coding::delta);
        other.bytes.size() < best.bytes.size()) {
      best = std::move(other);
    }
  }
  out.append(reinterpret_cast<const char*>(&best.head), sizeof best.head);
  out += best.bytes;
}

Result<std::string_view> ColumnCoder::plain(std::span<const std::byte> stored, std::size_t bytes) {
  State& s = *state_;
  s.planes.resize(bytes);
  const std::size_t n =
      ZSTD_decompressDCtx(s.decompress, s.planes.data(), bytes, stored.data(), stored.size());
  if (ZSTD_isError(n) != 0 || n != bytes) {
    return fail("is not compressed as it should be");
  }
  return std::string_view(s.planes.data(), bytes);
}

Result<> ColumnCoder::read(std::span<const std::byte>& body, Words& values) {
  ColumnHead head;
  if (body.size() < sizeof head) {
    return fail("is missing");
  }
  std::memcpy(&head, body.data(), sizeof head);
  body = body.subspan(sizeof head);
  BLKSWEEP_CHECK(check_column(head, body.size()));
  std::ranges::fill(values, 0);
  if (head.planes > 0) {
    BLKSWEEP_TRY(const std::string_view planes,
                 plain(body.first(head.stored_bytes), values.size() * head.planes));
    for (unsigned p = 0; p < head.planes; ++p) {
      const char* plane = planes.data() + values.size() * p;
      add_plane(reinterpret_cast<const std::uint8_t*>(plane), 8 * p, values);
    }
  }
  body = body.subspan(head.stored_bytes);
  restore(head, values);
  return {};
}

}  // namespace blksweep
