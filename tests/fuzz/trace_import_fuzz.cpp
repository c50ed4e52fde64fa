// Arbitrary bytes as a foreign trace, in any format and archive: no crash, no hang, and what a
// parser gives is within the limits of a trace file.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "trace/import/import.h"
#include "trace/trace_block.h"

namespace blksweep {
namespace {

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

class Checked : public ImportTarget {
 public:
  Result<std::uint32_t> place(std::string_view name) override {
    require(name.size() <= std::size_t{1} << 17);
    return 7;
  }
  Result<> add(const TraceRecord& r) override {
    require(r.place == 7 && r.time_ns >= 0);
    require(r.offset <= INT64_MAX && r.bytes <= INT64_MAX);
    require(r.latency_ns >= kNotTold && r.returned >= kNotTold);
    require(static_cast<std::uint32_t>(r.op) < kTraceOps);
    require(static_cast<std::uint32_t>(r.form) < kCallForms);
    return {};
  }
};

void parse_lines(const TraceFormat& format, TraceInput& input, Checked& target) {
  FormatOptions options;
  options.time_unit_ns = 1000;
  const auto parser = format.text(options);
  parser->begin_member();
  std::string_view line;
  for (;;) {
    const auto some = input.line(line);
    if (!some || !*some) {
      return;
    }
    if (!line.empty()) {
      if (const auto taken = parser->line(line, target); !taken) {
        require(!taken.error().message().empty());
      }
    }
  }
}

void parse_records(const TraceFormat& format, TraceInput& input, Checked& target) {
  const auto parser = format.binary({});
  for (;;) {
    const auto some = parser->record(input, target);
    if (!some || !*some) {
      return;
    }
  }
}

void parse(std::span<const std::byte> bytes, const TraceFormat& format) {
  auto input = TraceInput::of_bytes(bytes, "fuzz");
  if (!input) {
    return;
  }
  Checked target;
  for (int members = 0; members < 16; ++members) {
    const auto some = input->next_member();
    if (!some || !*some) {
      return;
    }
    format.text != nullptr ? parse_lines(format, *input, target)
                           : parse_records(format, *input, target);
  }
}

}  // namespace
}  // namespace blksweep

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const auto formats = blksweep::trace_formats();
  const auto bytes = std::as_bytes(std::span(data, size)).subspan(1);
  blksweep::parse(bytes, formats[data[0] % formats.size()]);
  if (auto input = blksweep::TraceInput::of_bytes(bytes, "fuzz"); input) {
    if (const auto some = input->next_member(); some && *some) {
      const auto known = blksweep::recognise_format(*input, {});
      blksweep::require(known.has_value() || known.error().exit_code != blksweep::Exit::done);
    }
  }
  return 0;
}
