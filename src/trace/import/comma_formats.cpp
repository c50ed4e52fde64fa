// Public block traces of one access a line, fields between commas or blanks. Each class names where
// its columns are specified; docs/trace-formats.md has them all.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "trace/import/fields.h"
#include "trace/import/format.h"

namespace blksweep {
namespace {

constexpr std::uint64_t kFiletimeTick = 100;                       // ns
constexpr std::uint64_t kFiletimeEpoch = 116'444'736'000'000'000;  // ticks from 1601 to 1970

using Fields = std::vector<std::string_view>;

// What a line says, before it is checked as a whole.
struct Line {
  std::optional<std::int64_t> time_ns;
  std::optional<std::uint64_t> offset, bytes;
  std::optional<bool> read;
  std::optional<std::int64_t> latency_ns;
};

Result<bool> give(const Line& l, std::string_view volume, const Fields& f, ImportTarget& target,
                  int time, int offset, int bytes, int op) {
  const auto text = [&f](int at) { return f[static_cast<std::size_t>(at)]; };
  if (!l.time_ns) {
    return bad_field("time", text(time));
  }
  if (!l.offset) {
    return bad_field("address", text(offset));
  }
  if (!l.bytes) {
    return bad_field("size", text(bytes));
  }
  if (!l.read) {
    return bad_field("operation", text(op));
  }
  TraceRecord r;
  r.time_ns = *l.time_ns;
  r.offset = *l.offset;
  r.bytes = *l.bytes;
  r.op = *l.read ? TraceOp::read : TraceOp::write;
  r.latency_ns = l.latency_ns.value_or(kNotTold);
  BLKSWEEP_TRY(r.place, target.place(volume));
  BLKSWEEP_CHECK(target.add(r));
  return true;
}

tl::unexpected<Error> wrong_count(const Fields& f, const char* wanted) {
  return fail(fmt::format("{} fields, not {}", f.size(), wanted));
}

std::optional<std::int64_t> filetime(std::string_view text) {
  const auto ticks = number<std::uint64_t>(text);
  if (!ticks || *ticks < kFiletimeEpoch ||
      *ticks - kFiletimeEpoch > static_cast<std::uint64_t>(INT64_MAX) / kFiletimeTick) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>((*ticks - kFiletimeEpoch) * kFiletimeTick);
}

std::optional<std::int64_t> known(std::optional<std::uint64_t> n) {
  return n ? std::optional(static_cast<std::int64_t>(*n)) : std::nullopt;
}

// 1: read (hfplayer, DiskSim); `one` turns it round (Tencent).
std::optional<bool> digit_read(std::string_view text, bool one) {
  if (text == "1") {
    return one;
  }
  return text == "0" ? std::optional(!one) : std::nullopt;
}

// Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime: SNIA IOTTA 387, its README.
class Msr : public TextParser {
 public:
  Result<bool> line(std::string_view line, ImportTarget& target) override {
    split_at(line, ',', f_);
    if (f_.size() != 7) {
      return wrong_count(f_, "7");
    }
    const Line l{filetime(f_[0]), scaled(f_[4], 1), scaled(f_[5], 1), is_read(f_[3]),
                 known(scaled(f_[6], kFiletimeTick))};
    volume_.assign(f_[1]).append(".").append(f_[2]);
    return give(l, volume_, f_, target, 0, 4, 5, 3);
  }

 private:
  Fields f_;
  std::string volume_;
};

// device_id,opcode,offset,length,timestamp: Alibaba block traces 2020, README.
class Alibaba : public TextParser {
 public:
  Result<bool> line(std::string_view line, ImportTarget& target) override {
    split_at(line, ',', f_);
    if (f_.size() != 5) {
      return wrong_count(f_, "5");
    }
    const std::optional<bool> read = f_[1] == "R" || f_[1] == "W" ? is_read(f_[1]) : std::nullopt;
    const Line l{known(scaled(f_[4], kMicro)), scaled(f_[2], 1), scaled(f_[3], 1), read, {}};
    return number<std::uint64_t>(f_[0]) ? give(l, f_[0], f_, target, 4, 2, 3, 1)
                                        : bad_field("device", f_[0]);
  }

 private:
  Fields f_;
};

// Timestamp,Offset,Size,IOType,VolumeID: SNIA IOTTA 28064. Seconds; sectors; 0 reads.
class Tencent : public TextParser {
 public:
  Result<bool> line(std::string_view line, ImportTarget& target) override {
    split_at(line, ',', f_);
    if (f_.size() != 5) {
      return wrong_count(f_, "5");
    }
    const Line l{known(scaled(f_[0], kSecond)),
                 scaled(f_[1], kSector),
                 scaled(f_[2], kSector),
                 digit_read(f_[3], false),
                 {}};
    return number<std::uint64_t>(f_[4]) ? give(l, f_[4], f_, target, 0, 1, 2, 3)
                                        : bad_field("volume", f_[4]);
  }

 private:
  Fields f_;
};

// Timestamp,Response,IOType,LUN,Offset,Size: SNIA IOTTA 4928. An empty IOType: no response was
// seen, and whether it read is not known.
class Systor : public TextParser {
 public:
  Result<bool> line(std::string_view line, ImportTarget& target) override {
    split_at(line, ',', f_);
    if (f_.size() != 6) {
      return wrong_count(f_, "6");
    }
    if (f_[0] == "Timestamp") {
      return false;
    }
    Line l{decimal_ns(f_[0], kSecond), scaled(f_[4], 1), scaled(f_[5], 1), is_read(f_[2]), {}};
    if (!f_[1].empty() && !(l.latency_ns = decimal_ns(f_[1], kSecond))) {
      return bad_field("response time", f_[1]);
    }
    if (f_[2].empty()) {
      return other(l, target);
    }
    return give(l, f_[3], f_, target, 0, 4, 5, 2);
  }

 private:
  Result<bool> other(const Line& l, ImportTarget& target) {
    if (!l.time_ns || !l.offset || !l.bytes) {
      return fail("a time, an address or a size is no number");
    }
    TraceRecord r{.time_ns = *l.time_ns, .offset = *l.offset, .bytes = *l.bytes};
    r.op = TraceOp::other;
    BLKSWEEP_TRY(r.place, target.place(f_[3]));
    BLKSWEEP_CHECK(target.add(r));
    return true;
  }
  Fields f_;
};

// ASU,LBA,Size,Opcode,Timestamp[,more]: SPC trace file format 1.0.1; UMass. LBA within the ASU.
class Spc : public TextParser {
 public:
  Result<bool> line(std::string_view line, ImportTarget& target) override {
    split_at(line, ',', f_);
    if (f_.size() < 5) {
      return wrong_count(f_, "5 or more");
    }
    const std::optional<bool> read = f_[3].size() == 1 ? is_read(f_[3]) : std::nullopt;
    const Line l{decimal_ns(f_[4], kSecond), scaled(f_[1], kSector), scaled(f_[2], 1), read, {}};
    return number<std::uint32_t>(f_[0]) ? give(l, f_[0], f_, target, 4, 1, 2, 3)
                                        : bad_field("ASU", f_[0]);
  }

 private:
  Fields f_;
};

// ts pid process lba size W|R major minor md5: FIU IODedup. The process's name may have blanks: the
// six fields behind it count from the end.
class Fiu : public TextParser {
 public:
  Result<bool> line(std::string_view line, ImportTarget& target) override {
    split_at_blanks(line, f_);
    if (f_.size() < 9) {
      return wrong_count(f_, "9 or more");
    }
    const std::size_t lba = f_.size() - 6;
    const std::optional<bool> read =
        f_[lba + 2] == "R" || f_[lba + 2] == "W" ? is_read(f_[lba + 2]) : std::nullopt;
    const Line l{
        known(scaled(f_[0], 1)), scaled(f_[lba], kSector), scaled(f_[lba + 1], kSector), read, {}};
    if (!number<std::uint32_t>(f_[1])) {
      return bad_field("process", f_[1]);
    }
    volume_.assign(f_[lba + 3]).append(":").append(f_[lba + 4]);
    const int at = static_cast<int>(lba);
    return give(l, volume_, f_, target, 0, at, at + 1, at + 2);
  }

 private:
  Fields f_;
  std::string volume_;
};

// ts, disk, offset, size, type: hfplayer (Haghdoost et al., FAST 2017). Milliseconds; bytes; 1
// reads.
class Hfplayer : public TextParser {
 public:
  Result<bool> line(std::string_view line, ImportTarget& target) override {
    split_at(line, ',', f_);
    if (f_.size() != 5) {
      return wrong_count(f_, "5");
    }
    const Line l{
        decimal_ns(f_[0], kMilli), scaled(f_[2], 1), scaled(f_[3], 1), digit_read(f_[4], true), {}};
    return give(l, f_[1], f_, target, 0, 2, 3, 4);
  }

 private:
  Fields f_;
};

// arrival device start size type: DiskSim 4.0 manual, "ASCII"; bit 0 of type reads. The unit of
// arrival is milliseconds there and nanoseconds in MQSim's samples: the user says which.
class DiskSim : public TextParser {
 public:
  explicit DiskSim(std::int64_t unit_ns) : unit_ns_(unit_ns) {}
  Result<bool> line(std::string_view line, ImportTarget& target) override {
    split_at_blanks(line, f_);
    if (f_.size() != 5) {
      return wrong_count(f_, "5");
    }
    const Line l{decimal_ns(f_[0], unit_ns_),
                 scaled(f_[2], kSector),
                 scaled(f_[3], kSector),
                 digit_read(f_[4], true),
                 {}};
    return number<std::uint32_t>(f_[1]) ? give(l, f_[1], f_, target, 0, 2, 3, 4)
                                        : bad_field("device", f_[1]);
  }

 private:
  std::int64_t unit_ns_;
  Fields f_;
};

}  // namespace

std::unique_ptr<TextParser> msr_parser(const FormatOptions&) { return std::make_unique<Msr>(); }
std::unique_ptr<TextParser> alibaba_parser(const FormatOptions&) {
  return std::make_unique<Alibaba>();
}
std::unique_ptr<TextParser> tencent_parser(const FormatOptions&) {
  return std::make_unique<Tencent>();
}
std::unique_ptr<TextParser> systor_parser(const FormatOptions&) {
  return std::make_unique<Systor>();
}
std::unique_ptr<TextParser> spc_parser(const FormatOptions&) { return std::make_unique<Spc>(); }
std::unique_ptr<TextParser> fiu_parser(const FormatOptions&) { return std::make_unique<Fiu>(); }
std::unique_ptr<TextParser> hfplayer_parser(const FormatOptions&) {
  return std::make_unique<Hfplayer>();
}
std::unique_ptr<TextParser> disksim_parser(const FormatOptions& o) {
  return std::make_unique<DiskSim>(o.time_unit_ns.value_or(1));
}

}  // namespace blksweep
