// Trace files in the formats of others: fio's iolog (version 3), blktrace's binary, CSV.
//
// What a format cannot say is left out and counted, never turned into something else.
//
// Units:     an iolog has microseconds and blktrace sectors: times are cut to the former, addresses
//            that are no multiple of the latter are left out.
// Errors:    a file trace as blktrace is a usage error; so is a name that fio's reader does not
//            take, and an `output` that is there and in another format.
// Ownership: `output` appears whole or not at all.
// Threads:   one owner.
// Source:    fio's HOWTO "Trace file format v3"; Linux include/uapi/linux/blktrace_api.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "trace/trace_file.h"

namespace blksweep {

enum class ExportFormat : std::uint8_t { csv, iolog, blktrace };
Result<ExportFormat> parse_export_format(std::string_view text);

struct ExportReport {
  std::uint64_t records = 0;   // that were written
  std::uint64_t left_out = 0;  // that the format does not have
};

Result<ExportReport> export_trace(TraceReader& trace, ExportFormat format,
                                  const std::string& output, const std::atomic<bool>& stop);

}  // namespace blksweep
