#include <algorithm>
#include <array>

#include "trace/import/fields.h"
#include "trace/import/format.h"

namespace blksweep {
namespace {

constexpr auto kBlock = TraceKind::block;
constexpr auto kFile = TraceKind::file;

// name, about, kind, step of its clock, since 1970?, unit asked for?, parser
constexpr std::array kFormats{
    TraceFormat{"csv", "blksweep's own, as trace export writes it", kBlock, 1, false, false,
                csv_parser, nullptr, nullptr},
    TraceFormat{"iolog", "fio's iolog, version 2 or 3", kBlock, kMicro, false, false, iolog_parser,
                nullptr, nullptr},
    TraceFormat{"blktrace", "blktrace's binary files, version 7 or 8, all CPUs", kBlock, 1, false,
                false, nullptr, blktrace_parser, is_blktrace},
    TraceFormat{"blkparse", "blkparse's default text", kBlock, 1, false, false, blkparse_parser,
                nullptr, nullptr},
    TraceFormat{"msr", "MSR Cambridge (SNIA 387)", kBlock, 100, true, false, msr_parser, nullptr,
                nullptr},
    TraceFormat{"alibaba", "Alibaba block traces 2020", kBlock, kMicro, true, false, alibaba_parser,
                nullptr, nullptr},
    TraceFormat{"tencent", "Tencent CBS (SNIA 28064); whole seconds", kBlock, kSecond, true, false,
                tencent_parser, nullptr, nullptr},
    TraceFormat{"systor", "SYSTOR'17 (SNIA 4928)", kBlock, kMicro, true, false, systor_parser,
                nullptr, nullptr},
    TraceFormat{"spc", "SPC-1: UMass Financial and WebSearch", kBlock, kMicro, false, false,
                spc_parser, nullptr, nullptr},
    TraceFormat{"fiu", "FIU IODedup", kBlock, 1, false, false, fiu_parser, nullptr, nullptr},
    TraceFormat{"vscsi", "CloudPhysics, version 1 or 2", kBlock, kMicro, false, false, nullptr,
                vscsi_parser, is_vscsi},
    TraceFormat{"hfplayer", "hfplayer's CSV", kBlock, kMicro, false, false, hfplayer_parser,
                nullptr, nullptr},
    TraceFormat{"disksim", "DiskSim's ASCII; needs --time-unit", kBlock, 1, false, true,
                disksim_parser, nullptr, nullptr},
    TraceFormat{"darshan", "Darshan's DXT as text (darshan-dxt-parser)", kFile, 100 * kMicro, false,
                false, darshan_parser, nullptr, nullptr},
    TraceFormat{"recorder", "Recorder's text, a file a rank", kFile, kMicro, false, false,
                recorder_parser, nullptr, nullptr},
    TraceFormat{"dftracer", "DFTracer's .pfw, four dialects", kFile, kMicro, true, false,
                dftracer_parser, nullptr, nullptr},
};

}  // namespace

std::span<const TraceFormat> trace_formats() { return kFormats; }

const TraceFormat* find_format(std::string_view name) {
  const auto* found = std::ranges::find(kFormats, name, &TraceFormat::name);
  return found != kFormats.end() ? found : nullptr;
}

}  // namespace blksweep
