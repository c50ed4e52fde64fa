#include "cli/run/cell_meaning.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cli/run/peers.h"
#include "loader/stages.h"

namespace blksweep {
namespace {

struct Meaning {
  std::string_view option;
  bool (*in)(const CellSettings&);
  std::string_view needs;
};

bool copies(const CellSettings& c) { return c.copy != CopyKind::none; }

bool planned(const CellSettings& c) { return c.workers == 0; }

bool buffers(const CellSettings& c) { return c.shuffle == Shuffle::buffer; }

bool hints(const CellSettings& c) { return c.engine == EngineKind::hint; }

constexpr std::array<Meaning, 28> kMeanings{{
    {"scope", [](const CellSettings& c) { return c.workers > 0; }, "--reader workers:N"},
    {"depth", planned, "--reader planned"},
    {"refill", planned, "--reader planned"},
    {"submit", planned, "--reader planned"},
    {"openers", planned, "--reader planned"},
    {"open-by", planned, "--reader planned"},
    {"merge-max", planned, "--reader planned"},
    {"decode-threads",
     [](const CellSettings& c) { return planned(c) || c.decode_cpu.count() == 0; },
     "--reader planned, or without --decode-cpu"},
    {"chunk", [](const CellSettings& c) { return in_chunks(c.order); },
     "--order chunked or elevator"},
    {"lookahead", [](const CellSettings& c) { return c.order == Order::elevator; },
     "--order elevator"},
    {"sort-window", [](const CellSettings& c) { return c.order != Order::lba; },
     "an order other than lba"},
    {"merge-gap",
     [](const CellSettings& c) { return c.merge == Merge::file || c.merge == Merge::device; },
     "--merge file or device"},
    {"merge-horizon", [](const CellSettings& c) { return c.merge == Merge::device; },
     "--merge device"},
    {"merge-batch", [](const CellSettings& c) { return c.merge == Merge::kernel; },
     "--merge kernel"},
    {"window", [](const CellSettings& c) { return c.shuffle != Shuffle::none; }, "--shuffle"},
    {"drain", buffers, "--shuffle buffer"},
    {"hold", buffers, "--shuffle buffer"},
    {"next-epoch", [](const CellSettings& c) { return planned(c) && c.epochs > 1; },
     "--reader planned and --epochs"},
    {"madvise", [](const CellSettings& c) { return c.engine == EngineKind::mmap; },
     "--engine mmap"},
    {"hint", hints, "--engine hint"},
    {"hint-window", hints, "--engine hint"},
    {"copy-bandwidth", [](const CellSettings& c) { return c.copy == CopyKind::emulated; },
     "--copy emulated"},
    {"copy-latency", [](const CellSettings& c) { return c.copy == CopyKind::emulated; },
     "--copy emulated"},
    {"staging", copies, "--copy"},
    {"copy-streams", [](const CellSettings& c) { return copies(c) && c.copy != CopyKind::host; },
     "--copy emulated or cuda"},
    {"device-slots", [](const CellSettings& c) { return copies(c) || c.decode_threads > 0; },
     "--copy or --decode-threads"},
    {"device-index",
     [](const CellSettings& c) {
       return needs_gpu(c) || c.node.bind.find("near-gpu") != std::string::npos;
     },
     "a GPU in the cell"},
    {"compute", [](const CellSettings& c) { return c.consumer != ConsumerKind::none; },
     "--consumer"},
}};

}  // namespace

bool has_meaning(std::string_view option, const CellSettings& cell) {
  if (cell.peer.empty() ? is_peer_option(option) : !peer_heeds(option)) {
    return false;
  }
  const auto found = std::ranges::find(kMeanings, option, &Meaning::option);
  return found == kMeanings.end() || found->in(cell);
}

std::string needed_for(std::string_view option) {
  const auto found = std::ranges::find(kMeanings, option, &Meaning::option);
  return found == kMeanings.end() ? std::string(option)
                                  : fmt::format("{}: only with {}", option, found->needs);
}

}  // namespace blksweep
