#include "experiment/fallback.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "io/engine_trial.h"

namespace blksweep {

bool sorts_by_address(const CellSettings& cell) {
  return in_chunks(cell.order) || cell.sort_window.bytes.n > 0 || cell.sort_window.percent > 0;
}

Bytes largest_sample(const Catalog& catalog) {
  std::uint64_t most = 0;
  for (std::uint32_t s = 0; s < catalog.samples(); ++s) {
    most = std::max(most, catalog.sample(s).length);
  }
  return Bytes{most};
}

namespace {

unsigned most_depth(std::span<const CellSettings> cells, EngineKind engine) {
  unsigned depth = 0;
  for (const CellSettings& cell : cells) {
    depth = std::max(depth, cell.engine == engine ? cell.depth : 0);
  }
  return depth;
}

std::string why_not(const Source& source, EngineKind engine, unsigned depth) {
  if (engine == EngineKind::uring_iopoll) {
    if (std::string why = poll_refusal(source); !why.empty()) {
      return why + "; or use --engine io_uring";
    }
  }
  return engine_refusal(engine, depth);
}

}  // namespace

Refusals find_refusals(const Source& source, std::span<const CellSettings> cells) {
  Refusals r;
  const unsigned depth = most_depth(cells, EngineKind::io_uring);
  r.ring = depth > 0 ? ring_refusal(depth) : "";
  for (const EngineKind engine : kEngines) {
    const unsigned most = most_depth(cells, engine);
    if (most == 0 || engine == EngineKind::io_uring || engine == EngineKind::psync) {
      continue;
    }
    if (std::string why = why_not(source, engine, most); !why.empty()) {
      r.engines[engine] = std::move(why);
    }
  }
  r.addresses = address_refusal(source.catalog);
  r.device = device_refusal(source);
  r.largest = largest_sample(source.catalog);
  return r;
}

// With room for what a horizon reads ahead, and for the edges of blocks.
RelativeSize window_for(const CellSettings& cell, Bytes largest) {
  largest.n = cell.read_share.of(largest.n);
  const std::uint64_t least = align_up(largest.n + 2 * horizon_of(cell).n + kPageBytes, kMiB);
  const bool grows = cell.shuffle != Shuffle::none && !cell.window_named && largest.n > 0 &&
                     least > cell.window.bytes.n;
  return grows ? RelativeSize{Bytes{least}, 0} : cell.window;
}

Result<CellSettings> settle(const CellSettings& cell, const Refusals& refusals) {
  CellSettings settled = cell;
  settled.window = window_for(cell, refusals.largest);
  if (cell.engine == EngineKind::io_uring && !refusals.ring.empty()) {
    if (cell.workers > 0) {
      return fail("--scope batch needs io_uring, which is refused here: " + refusals.ring +
                      " (use --scope sample)",
                  Exit::unsupported);
    }
    if (cell.engine_named) {
      return fail("--engine io_uring is refused here: " + refusals.ring + " (use --engine psync)",
                  Exit::unsupported);
    }
    settled.engine = EngineKind::psync;
  }
  if (const auto refused = refusals.engines.find(cell.engine); refused != refusals.engines.end()) {
    return fail(
        fmt::format("--engine {} is refused here: {}", to_string(cell.engine), refused->second),
        Exit::unsupported);
  }
  if (cell.merge == Merge::device && !refusals.device.empty()) {
    settled.merge = Merge::file;
    settled.merge_asked = cell.merge;
  }
  if (refusals.addresses.empty()) {
    return settled;
  }
  settled.addresses_refused = true;
  if (cell.order == Order::lba ||
      cell.order == Order::reverse) {  // unknown addresses sort behind all others, there by inode
    settled.order = cell.order_named ? Order::inode : Order::path;
    settled.order_asked = cell.order_named ? std::optional(cell.order) : std::nullopt;
  }
  return settled;
}

std::vector<std::string> fallback_notes(const CellSettings& settled, const Refusals& refusals) {
  std::vector<std::string> notes;
  if (!settled.window_named && settled.window.bytes.n > CellSettings{}.window.bytes.n) {
    notes.push_back(fmt::format("window: {} in place of {}, for a sample of {}",
                                format_bytes(settled.window.bytes),
                                format_bytes(CellSettings{}.window.bytes),
                                format_bytes({settled.read_share.of(refusals.largest.n)})));
  }
  if (settled.engine == EngineKind::psync && !settled.engine_named && !refusals.ring.empty()) {
    notes.push_back(
        fmt::format("engine: psync in place of io_uring, which is refused here ({}): one read at a "
                    "time, so the device's queue stays empty and times are those of its latency",
                    refusals.ring));
  }
  if (settled.order == Order::path && !settled.order_named && !refusals.addresses.empty()) {
    notes.push_back(fmt::format(
        "order: path in place of lba, because {} (FIEMAP refused, or no disk below): reads do not "
        "follow the device, seeks are not known, and nothing is merged by address",
        refusals.addresses));
  }
  if (settled.order_asked) {
    notes.push_back(fmt::format(
        "order: asked {}, got {}, because {} (FIEMAP refused, or no disk below): reads do not "
        "follow the device, seeks are not known, and nothing is merged by address",
        to_string(*settled.order_asked), to_string(settled.order), refusals.addresses));
  }
  if (settled.merge_asked) {
    notes.push_back(
        fmt::format("merge: asked {}, got {}, because {}: all samples are read through their files",
                    to_string(*settled.merge_asked), to_string(settled.merge), refusals.device));
  }
  if (settled.addresses_refused && sorts_by_address(settled)) {
    notes.push_back(fmt::format("order: {} sorted by inode and not by address, because {}",
                                in_chunks(settled.order) ? "chunks are" : "windows are",
                                refusals.addresses));
  }
  return notes;
}

}  // namespace blksweep
