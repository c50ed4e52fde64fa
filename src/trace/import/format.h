// A foreign trace format: how a line or a record of it becomes a TraceRecord.
//
// One parser reads all members of a trace. Times are given as the source has them, in nanoseconds
// since its own zero; the import makes them relative to the least. Each parser accepts arbitrary
// bytes.
//
// Errors:  a bad line is an Error without its place ("the size is no number"); the import adds
//          that.
// Threads: one owner each.
// Source:  docs/trace-formats.md names the specification of each.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "trace/trace_input.h"
#include "trace/trace_record.h"

namespace blksweep {

// In TraceRecord::flags, between parser and import only: the completion of the oldest request of
// that place and offset, at time_ns. Never in a trace.
inline constexpr std::uint16_t kCompletion = 1 << 15;
// The same: that request went back to the queue, and will be issued again.
inline constexpr std::uint16_t kRequeue = 1 << 14;

// Where parsers put what they read.
class ImportTarget {
 public:
  virtual ~ImportTarget() = default;
  virtual Result<std::uint32_t> place(std::string_view name) = 0;
  virtual Result<> add(const TraceRecord& record) = 0;
};

struct FormatOptions {
  std::optional<std::int64_t> time_unit_ns;  // where the format leaves it open
  char action = 'D';                         // of blktrace: issue (D) or queue (Q)
};

class TextParser {
 public:
  virtual ~TextParser() = default;
  // One line, without its end, never empty. True: it gave a record; false: it is none (a header, a
  // summary) and that is as it should be.
  virtual Result<bool> line(std::string_view line, ImportTarget& target) = 0;
  // A member begins: iologs and files with a header start anew.
  virtual void begin_member() {}
  // After all members: the name of a place whose name was not known when it was used.
  virtual Result<std::string> final_name(const std::string& place) const { return place; }
  // After all members: what they say of the trace, over what the format says.
  virtual void state(TraceFacts&) const {}
};

class BinaryParser {
 public:
  virtual ~BinaryParser() = default;
  // One record from the input; false at its end.
  virtual Result<bool> record(TraceInput& input, ImportTarget& target) = 0;
};

struct TraceFormat {
  const char* name;
  const char* about;  // one line for --help
  TraceKind kind;
  std::int64_t quantum_ns;
  bool unix_time;   // its times count from 1970
  bool needs_unit;  // FormatOptions::time_unit_ns must be given
  std::unique_ptr<TextParser> (*text)(const FormatOptions&);      // or
  std::unique_ptr<BinaryParser> (*binary)(const FormatOptions&);  // this one
  bool (*recognise)(std::string_view first_bytes);                // of binary ones
};

std::span<const TraceFormat> trace_formats();
const TraceFormat* find_format(std::string_view name);

// Of one family each, in a file each.
std::unique_ptr<TextParser> msr_parser(const FormatOptions&);
std::unique_ptr<TextParser> alibaba_parser(const FormatOptions&);
std::unique_ptr<TextParser> tencent_parser(const FormatOptions&);
std::unique_ptr<TextParser> systor_parser(const FormatOptions&);
std::unique_ptr<TextParser> spc_parser(const FormatOptions&);
std::unique_ptr<TextParser> fiu_parser(const FormatOptions&);
std::unique_ptr<TextParser> hfplayer_parser(const FormatOptions&);
std::unique_ptr<TextParser> disksim_parser(const FormatOptions&);
std::unique_ptr<TextParser> blkparse_parser(const FormatOptions&);
std::unique_ptr<TextParser> iolog_parser(const FormatOptions&);
std::unique_ptr<TextParser> csv_parser(const FormatOptions&);
std::unique_ptr<TextParser> darshan_parser(const FormatOptions&);
std::unique_ptr<TextParser> recorder_parser(const FormatOptions&);
std::unique_ptr<TextParser> dftracer_parser(const FormatOptions&);
std::unique_ptr<BinaryParser> blktrace_parser(const FormatOptions&);
std::unique_ptr<BinaryParser> vscsi_parser(const FormatOptions&);
bool is_blktrace(std::string_view first_bytes);
bool is_vscsi(std::string_view first_bytes);

}  // namespace blksweep
