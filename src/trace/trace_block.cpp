#include "trace/trace_block.h"

#include <fmt/format.h>
#include <xxhash.h>
#include <zstd.h>

#include <algorithm>
#include <array>
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

// A record is nine numbers; those of one kind that are alike in a whole block cost 16 bytes of it.
constexpr std::size_t kColumns = 9;
constexpr std::size_t kTimeColumn = 0;

std::uint64_t column_of(const TraceRecord& r, std::size_t column) {
  switch (column) {
    case kTimeColumn:
      return static_cast<std::uint64_t>(r.time_ns);
    case 1:
      return r.place;
    case 2:
      return r.offset;
    case 3:
      return r.bytes;
    case 4:
      return static_cast<std::uint64_t>(r.returned + 1);
    case 5:
      return static_cast<std::uint64_t>(r.latency_ns + 1);
    case 6:
      return r.thread;
    case 7:
      return static_cast<std::uint64_t>(r.op) | static_cast<std::uint64_t>(r.form) << 8;
    default:
      return r.flags;
  }
}

// Turns numbers without a bound back into fields; those out of range are refused by check_values.
void set_column(TraceRecord& r, std::size_t column, std::uint64_t v) {
  switch (column) {
    case kTimeColumn:
      r.time_ns = static_cast<std::int64_t>(v);
      break;
    case 1:
      r.place = static_cast<std::uint32_t>(v);
      break;
    case 2:
      r.offset = v;
      break;
    case 3:
      r.bytes = v;
      break;
    case 4:
      r.returned = static_cast<std::int64_t>(v) - 1;
      break;
    case 5:
      r.latency_ns = static_cast<std::int64_t>(v) - 1;
      break;
    case 6:
      r.thread = v;
      break;
    case 7:
      r.op = static_cast<TraceOp>(v & 0xFF);
      r.form = static_cast<CallForm>(v >> 8);
      break;
    default:
      r.flags = static_cast<std::uint16_t>(v);
  }
}

// The greatest value that a column may hold: signed ones are stored one up.
std::uint64_t limit_of(std::size_t column, std::uint64_t places) {
  constexpr auto kSigned = static_cast<std::uint64_t>(INT64_MAX);
  const std::array<std::uint64_t, kColumns> most{kSigned, places, kSigned,   kSigned,  kSigned,
                                                 kSigned, ~0ULL,  0xFFFFULL, 0xFFFFULL};
  return most[column];
}

bool known_call(std::uint64_t v) { return (v & 0xFF) < kTraceOps && v >> 8 < kCallForms; }

struct Packed {
  ColumnHead head{};
  std::string bytes;
};

class Compressor {
 public:
  Compressor() : context_(ZSTD_createCCtx()) {}
  ~Compressor() { ZSTD_freeCCtx(context_); }
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;

  void append(std::span<const char> plain, std::string& out) {
    const std::size_t at = out.size();
    out.resize(at + ZSTD_compressBound(plain.size()));
    out.resize(at + ZSTD_compressCCtx(context_, out.data() + at, out.size() - at, plain.data(),
                                      plain.size(), kLevel));
  }

 private:
  ZSTD_CCtx* context_;
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

struct BlockCoder::State {
  State() : decompress(ZSTD_createDCtx()) {}
  ~State() { ZSTD_freeDCtx(decompress); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  Compressor compress;
  ZSTD_DCtx* decompress;
  Words values, words;
  std::vector<char> planes;

  Packed packed(Coding coding) {
    Packed out;
    out.head.coding = static_cast<std::uint8_t>(coding);
    out.head.base = coding == Coding::frame ? *std::ranges::min_element(values) : values.front();
    words = coding == Coding::frame ? over_the_least(values, out.head.base)
                                    : over_the_one_before(values);
    to_planes(words, out.head, planes);
    if (out.head.planes > 0) {
      compress.append(planes, out.bytes);
    }
    out.head.stored_bytes = static_cast<std::uint32_t>(out.bytes.size());
    return out;
  }

  void append_column(std::string& out) {
    Packed best = packed(Coding::frame);
    if (best.head.planes > 0) {
      if (Packed other = packed(Coding::delta); other.bytes.size() < best.bytes.size()) {
        best = std::move(other);
      }
    }
    out.append(reinterpret_cast<const char*>(&best.head), sizeof best.head);
    out += best.bytes;
  }

  Result<> plain(std::span<const std::byte> stored, std::size_t bytes) {
    planes.resize(bytes);
    const std::size_t n =
        ZSTD_decompressDCtx(decompress, planes.data(), bytes, stored.data(), stored.size());
    if (ZSTD_isError(n) != 0 || n != bytes) {
      return fail("is not compressed as it should be");
    }
    return {};
  }

  // The next column of `body` into `values`, which has one place a record.
  Result<> read_column(std::span<const std::byte>& body) {
    ColumnHead head;
    if (body.size() < sizeof head) {
      return fail("is missing");
    }
    std::memcpy(&head, body.data(), sizeof head);
    body = body.subspan(sizeof head);
    BLKSWEEP_CHECK(check_column(head, body.size()));
    std::ranges::fill(values, 0);
    if (head.planes > 0) {
      BLKSWEEP_CHECK(plain(body.first(head.stored_bytes), values.size() * head.planes));
      for (unsigned p = 0; p < head.planes; ++p) {
        const char* plane = planes.data() + values.size() * p;
        add_plane(reinterpret_cast<const std::uint8_t*>(plane), 8 * p, values);
      }
    }
    body = body.subspan(head.stored_bytes);
    restore(head);
    return {};
  }

  void restore(const ColumnHead& head) {
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

  Result<> check_values(std::size_t column, const BlockHead& head, std::uint64_t places) const {
    const std::uint64_t most = limit_of(column, places);
    if (std::ranges::any_of(values, [most](std::uint64_t v) { return v > most; })) {
      return fail("holds a number that is out of range");
    }
    if (column == 7 && !std::ranges::all_of(values, known_call)) {
      return fail("holds an operation that is not known");
    }
    if (column == kTimeColumn && (!std::ranges::is_sorted(values) ||
                                  values.front() != static_cast<std::uint64_t>(head.first_ns) ||
                                  values.back() != static_cast<std::uint64_t>(head.last_ns))) {
      return fail("holds times that are out of order");
    }
    return {};
  }

  Result<> read_names(const BlockHead& head, std::span<const std::byte>& body,
                      std::vector<std::string>& names) {
    std::uint32_t stored = 0;
    if (body.size() < sizeof stored) {
      return fail("are missing");
    }
    std::memcpy(&stored, body.data(), sizeof stored);
    body = body.subspan(sizeof stored);
    if (stored > body.size()) {
      return fail("are cut");
    }
    if (head.names_bytes > 0) {
      BLKSWEEP_CHECK(plain(body.first(stored), head.names_bytes));
    }
    body = body.subspan(stored);
    return split_names(head, names);
  }

  Result<> split_names(const BlockHead& head, std::vector<std::string>& names) const {
    std::size_t at = 0;
    for (std::uint32_t n = 0; n < head.names; ++n) {
      std::uint16_t length = 0;
      if (head.names_bytes - at < sizeof length) {
        return fail("are cut");
      }
      std::memcpy(&length, planes.data() + at, sizeof length);
      at += sizeof length;
      if (length > kMaxNameBytes || head.names_bytes - at < length) {
        return fail("are cut");
      }
      names.emplace_back(planes.data() + at, length);
      at += length;
    }
    return at == head.names_bytes ? Result<>() : fail("are more than they say");
  }
};

BlockCoder::BlockCoder() : state_(std::make_unique<State>()) {}
BlockCoder::BlockCoder(BlockCoder&&) noexcept = default;
BlockCoder::~BlockCoder() = default;

Result<> check_head(const BlockHead& h) {
  if (h.magic != kBlockMagic || h.records == 0 || h.records > kBlockRecords || h.reserved != 0 ||
      h.first_ns < 0 || h.last_ns < h.first_ns || h.names_bytes > kMaxNewNamesBytes ||
      h.names > h.names_bytes / 2 || h.stored_bytes > kMaxBlockBytes) {
    return fail("is not the head of a block");
  }
  return {};
}

namespace {

std::uint64_t check_of(BlockHead head, const void* body) {
  head.check = 0;
  return XXH3_64bits_withSeed(body, head.stored_bytes, XXH3_64bits(&head, sizeof head));
}

std::string joined(std::span<const std::string> names) {
  std::string out;
  for (const std::string& name : names) {
    const auto length = static_cast<std::uint16_t>(name.size());
    out.append(reinterpret_cast<const char*>(&length), sizeof length);
    out += name;
  }
  return out;
}

}  // namespace

void BlockCoder::encode(std::span<const TraceRecord> records,
                        std::span<const std::string> new_names, std::string& out) {
  State& s = *state_;
  const std::size_t at = out.size();
  BlockHead head{};
  out.append(sizeof head, '\0');
  const std::string names = joined(new_names);
  std::string stored;
  if (!names.empty()) {
    s.compress.append(names, stored);
  }
  const auto stored_bytes = static_cast<std::uint32_t>(stored.size());
  out.append(reinterpret_cast<const char*>(&stored_bytes), sizeof stored_bytes);
  out += stored;
  for (std::size_t column = 0; column < kColumns; ++column) {
    s.values.resize(records.size());
    std::ranges::transform(records, s.values.begin(),
                           [column](const TraceRecord& r) { return column_of(r, column); });
    s.append_column(out);
  }
  head.magic = kBlockMagic;
  head.records = static_cast<std::uint32_t>(records.size());
  head.first_ns = records.front().time_ns;
  head.last_ns = records.back().time_ns;
  head.names = static_cast<std::uint32_t>(new_names.size());
  head.names_bytes = static_cast<std::uint32_t>(names.size());
  head.stored_bytes = static_cast<std::uint32_t>(out.size() - at - sizeof head);
  head.check = check_of(head, out.data() + at + sizeof head);
  std::memcpy(out.data() + at, &head, sizeof head);
}

Result<> BlockCoder::decode(const BlockHead& head, std::span<const std::byte> body,
                            std::vector<TraceRecord>& records, std::vector<std::string>* names) {
  BLKSWEEP_CHECK(check_head(head));
  if (body.size() != head.stored_bytes || check_of(head, body.data()) != head.check) {
    return fail("its bytes are not those that were written");
  }
  State& s = *state_;
  std::vector<std::string> none;
  if (const Result<> read = s.read_names(head, body, names != nullptr ? *names : none); !read) {
    return fail("its names " + read.error().text);
  }
  if (names != nullptr && names->empty()) {
    return fail("it has no names");
  }
  const std::uint64_t places = names != nullptr ? names->size() - 1 : UINT32_MAX;
  records.resize(head.records);
  s.values.resize(head.records);
  for (std::size_t column = 0; column < kColumns; ++column) {
    Result<> read = s.read_column(body);
    read = read ? s.check_values(column, head, places) : read;
    if (!read) {
      return fail(fmt::format("its column {} {}", column, read.error().text));
    }
    for (std::size_t i = 0; i < records.size(); ++i) {
      set_column(records[i], column, s.values[i]);
    }
  }
  return body.empty() ? Result<>() : fail("is longer than its columns");
}

}  // namespace blksweep
