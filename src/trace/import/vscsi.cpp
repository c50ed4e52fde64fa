// CloudPhysics' vscsi traces, versions 1 and 2: little-endian records of SCSI commands of one disk.
// Source: Waldspurger et al., "Efficient MRC Construction with SHARDS", FAST 2015, whose traces
// they are; docs/trace-formats.md.
#include <array>
#include <cstring>

#include "trace/import/fields.h"
#include "trace/import/format.h"

namespace blksweep {
namespace {

struct Record1 {
  std::uint32_t number, bytes, segments;
  std::uint16_t command, version;
  std::uint64_t sector, time_us;
};
static_assert(sizeof(Record1) == 32);

struct Record2 {
  std::uint16_t command, version;
  std::uint32_t number, bytes, segments;
  std::uint64_t sector, time_us, response_us;
};
static_assert(sizeof(Record2) == 40);

TraceOp operation_of_command(std::uint16_t command) {
  switch (command) {
    case 0x08:
    case 0x28:
    case 0x88:
    case 0xA8:
      return TraceOp::read;
    case 0x0A:
    case 0x2A:
    case 0x8A:
    case 0xAA:
      return TraceOp::write;
    case 0x35:
    case 0x91:
      return TraceOp::flush;
    case 0x42:
      return TraceOp::discard;
    default:
      return TraceOp::other;
  }
}

template <class Record>
bool is_version(std::string_view bytes, unsigned version) {
  Record r;
  if (bytes.size() < sizeof r) {
    return false;
  }
  std::memcpy(&r, bytes.data(), sizeof r);
  return r.version >> 8 == version;
}

// Two records in a row, where there are two: one alone may be chance.
template <class Record>
bool looks_like(std::string_view bytes, unsigned version) {
  return is_version<Record>(bytes, version) &&
         (bytes.size() < 2 * sizeof(Record) ||
          is_version<Record>(bytes.substr(sizeof(Record)), version));
}

class Vscsi : public BinaryParser {
 public:
  Result<bool> record(TraceInput& input, ImportTarget& target) override {
    if (version_ == 0) {
      BLKSWEEP_TRY(const std::string_view ahead, input.peek(2 * sizeof(Record2)));
      version_ = looks_like<Record1>(ahead, 1) ? 1 : 2;
    }
    return version_ == 1 ? one<Record1>(input, target) : one<Record2>(input, target);
  }

 private:
  template <class Record>
  Result<bool> one(TraceInput& input, ImportTarget& target) {
    Record in;
    BLKSWEEP_TRY(const bool some, input.exactly(std::as_writable_bytes(std::span(&in, 1))));
    if (!some) {
      return false;
    }
    if (in.version >> 8 != version_) {
      return fail("is a record of another version");
    }
    if (in.sector > static_cast<std::uint64_t>(INT64_MAX) / kSector ||
        in.time_us > static_cast<std::uint64_t>(INT64_MAX / kMicro)) {
      return fail("a time or an address is out of range");
    }
    TraceRecord r{.time_ns = static_cast<std::int64_t>(in.time_us) * kMicro};
    r.offset = in.sector * kSector;
    r.bytes = in.bytes;
    r.op = operation_of_command(in.command);
    if constexpr (requires { in.response_us; }) {
      r.latency_ns = in.response_us > static_cast<std::uint64_t>(INT64_MAX / kMicro)
                         ? kNotTold
                         : static_cast<std::int64_t>(in.response_us) * kMicro;
    }
    BLKSWEEP_TRY(r.place, target.place("0"));
    BLKSWEEP_CHECK(target.add(r));
    return true;
  }

  unsigned version_ = 0;
};

}  // namespace

std::unique_ptr<BinaryParser> vscsi_parser(const FormatOptions&) {
  return std::make_unique<Vscsi>();
}

bool is_vscsi(std::string_view first_bytes) {
  return looks_like<Record1>(first_bytes, 1) || looks_like<Record2>(first_bytes, 2);
}

}  // namespace blksweep
