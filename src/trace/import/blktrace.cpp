// blktrace's binary files, versions 7 and 8, of either byte order; one file a CPU.
// Source: Linux include/uapi/linux/blktrace_api.h.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "trace/import/fields.h"
#include "trace/import/format.h"

namespace blksweep {
namespace {

constexpr std::uint32_t kMagic = 0x65617400;
constexpr std::uint32_t kVersion1 = 7, kVersion2 = 8;
constexpr unsigned kMinorBits = 20;

// Events (low 16 bits of the action) and categories (above them).
constexpr std::uint32_t kQueue = 1, kRequeued = 6, kIssue = 7, kComplete = 8;
constexpr std::uint64_t kWrite = 1 << 1, kFlush = 1 << 2, kSync = 1 << 3, kPassthrough = 1 << 9,
                        kNotify = 1 << 10, kAhead = 1 << 11, kMeta = 1 << 12, kDiscard = 1 << 13,
                        kFua = 1 << 15;

// What both versions say, in the machine's byte order.
struct Event {
  std::uint64_t time = 0, sector = 0, action = 0;
  std::uint32_t bytes = 0, pid = 0, device = 0;
  std::uint16_t pdu_len = 0;
};

// Reads fields one after another, swapped where the file's order is not ours.
class FieldReader {
 public:
  FieldReader(const std::byte* at, bool swap) : at_(at), swap_(swap) {}
  template <class T>
  T next() {
    std::array<std::byte, sizeof(T)> bytes;
    std::memcpy(bytes.data(), at_, sizeof(T));
    at_ += sizeof(T);
    if (swap_) {
      std::reverse(bytes.begin(), bytes.end());
    }
    return std::bit_cast<T>(bytes);
  }

 private:
  const std::byte* at_;
  bool swap_;
};

// The version, and whether its bytes are to be swapped; nullopt: no event begins here.
struct Kind {
  std::uint32_t version = 0;
  bool swap = false;
};
std::optional<Kind> kind_of(std::uint32_t magic) {
  for (const bool swap : {false, true}) {
    const std::uint32_t m = swap ? __builtin_bswap32(magic) : magic;
    if ((m & ~0xFFU) == kMagic && ((m & 0xFF) == kVersion1 || (m & 0xFF) == kVersion2)) {
      return Kind{m & 0xFF, swap};
    }
  }
  return std::nullopt;
}

constexpr std::size_t kBody1 = 44, kBody2 = 60;  // behind the magic

Event event_of(const std::byte* body, const Kind& kind) {
  FieldReader in(body, kind.swap);
  Event e;
  in.next<std::uint32_t>();  // sequence
  e.time = in.next<std::uint64_t>();
  e.sector = in.next<std::uint64_t>();
  e.bytes = in.next<std::uint32_t>();
  if (kind.version == kVersion1) {
    e.action = in.next<std::uint32_t>();
    e.pid = in.next<std::uint32_t>();
  } else {
    e.pid = in.next<std::uint32_t>();
    e.action = in.next<std::uint64_t>();
  }
  e.device = in.next<std::uint32_t>();
  in.next<std::uint32_t>();  // cpu
  in.next<std::uint16_t>();  // error
  e.pdu_len = in.next<std::uint16_t>();
  return e;
}

TraceRecord record_of(const Event& e) {
  const std::uint64_t what = e.action >> 16;
  TraceRecord r;
  r.time_ns = static_cast<std::int64_t>(e.time);
  r.offset = e.sector * kSector;
  r.bytes = e.bytes;
  r.thread = std::uint64_t{e.pid} << 32 | e.pid;
  r.op = (what & kDiscard) != 0                 ? TraceOp::discard
         : (what & kFlush) != 0 && e.bytes == 0 ? TraceOp::flush
         : (what & kPassthrough) != 0           ? TraceOp::other
         : (what & kWrite) != 0                 ? TraceOp::write
                                                : TraceOp::read;
  const auto flag = [&what](std::uint64_t category, std::uint16_t f) {
    return (what & category) != 0 ? f : std::uint16_t{0};
  };
  r.flags = static_cast<std::uint16_t>(flag(kSync, kTraceSync) | flag(kAhead, kTraceReadahead) |
                                       flag(kMeta, kTraceMetadata) | flag(kFua, kTraceFua));
  return r;
}

class Blktrace : public BinaryParser {
 public:
  explicit Blktrace(char action) : taken_(action == 'Q' ? kQueue : kIssue) {}

  Result<bool> record(TraceInput& input, ImportTarget& target) override {
    std::uint32_t magic = 0;
    BLKSWEEP_TRY(const bool some, input.exactly(std::as_writable_bytes(std::span(&magic, 1))));
    if (!some) {
      return false;
    }
    const std::optional<Kind> kind = kind_of(magic);
    if (!kind) {
      return fail(fmt::format("{:#010x} is not the magic of an event of blktrace", magic));
    }
    std::array<std::byte, kBody2> body;
    const auto used = std::span(body).first(kind->version == kVersion1 ? kBody1 : kBody2);
    BLKSWEEP_TRY(const bool whole, input.exactly(used));
    if (!whole) {
      return fail("ends within an event");
    }
    const Event e = event_of(body.data(), *kind);
    BLKSWEEP_CHECK(skip(input, e.pdu_len));
    BLKSWEEP_CHECK(take(e, target));
    return true;
  }

 private:
  static Result<> skip(TraceInput& input, std::size_t bytes) {
    std::array<std::byte, 4096> scratch;
    while (bytes > 0) {
      const std::size_t n = std::min(bytes, scratch.size());
      BLKSWEEP_TRY(const bool some, input.exactly(std::span(scratch).first(n)));
      if (!some) {
        return fail("ends within an event");
      }
      bytes -= n;
    }
    return {};
  }

  Result<> take(const Event& e, ImportTarget& target) {
    const auto event = static_cast<std::uint32_t>(e.action & 0xFFFF);
    const bool again = event == kRequeued && taken_ == kIssue;
    if ((e.action >> 16 & kNotify) != 0 || (event != taken_ && event != kComplete && !again)) {
      return {};
    }
    if (e.time > static_cast<std::uint64_t>(INT64_MAX) ||
        e.sector > static_cast<std::uint64_t>(INT64_MAX) / kSector) {
      return fail("a time or an address is out of range");
    }
    TraceRecord r = record_of(e);
    BLKSWEEP_TRY(r.place, target.place(fmt::format("{},{}", e.device >> kMinorBits,
                                                   e.device & ((1U << kMinorBits) - 1))));
    r.flags = event == taken_ ? r.flags : event == kComplete ? kCompletion : kRequeue;
    return target.add(r);
  }

  std::uint32_t taken_;
};

}  // namespace

std::unique_ptr<BinaryParser> blktrace_parser(const FormatOptions& o) {
  return std::make_unique<Blktrace>(o.action);
}

bool is_blktrace(std::string_view first_bytes) {
  std::uint32_t magic = 0;
  if (first_bytes.size() < sizeof magic) {
    return false;
  }
  std::memcpy(&magic, first_bytes.data(), sizeof magic);
  return kind_of(magic).has_value();
}

}  // namespace blksweep
