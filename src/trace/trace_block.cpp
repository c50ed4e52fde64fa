#include "trace/trace_block.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "trace/trace_column.h"

namespace blksweep {
namespace {

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

}  // namespace

struct BlockCoder::State {
  ColumnCoder columns;
  std::vector<std::uint64_t> values;

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
    std::string_view plain;
    if (head.names_bytes > 0) {
      BLKSWEEP_TRY(plain, columns.plain(body.first(stored), head.names_bytes));
    }
    body = body.subspan(stored);
    return split_names(head, plain, names);
  }

  static Result<> split_names(const BlockHead& head, std::string_view plain,
                              std::vector<std::string>& names) {
    std::size_t at = 0;
    for (std::uint32_t n = 0; n < head.names; ++n) {
      std::uint16_t length = 0;
      if (head.names_bytes - at < sizeof length) {
        return fail("are cut");
      }
      std::memcpy(&length, plain.data() + at, sizeof length);
      at += sizeof length;
      if (length > kMaxNameBytes || head.names_bytes - at < length) {
        return fail("are cut");
      }
      names.emplace_back(plain.data() + at, length);
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
    s.columns.compress(names, stored);
  }
  const auto stored_bytes = static_cast<std::uint32_t>(stored.size());
  out.append(reinterpret_cast<const char*>(&stored_bytes), sizeof stored_bytes);
  out += stored;
  for (std::size_t column = 0; column < kColumns; ++column) {
    s.values.resize(records.size());
    std::ranges::transform(records, s.values.begin(),
                           [column](const TraceRecord& r) { return column_of(r, column); });
    s.columns.append(s.values, out);
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
    Result<> read = s.columns.read(body, s.values);
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
