// Source: the data set of an experiment, opened and checked: catalog, device, alignment, mount.
//
// Ownership: owns the catalog (loaded or scanned); everything that planning returns refers to it.
// Errors:    a catalog whose files changed is refused and the first changes are named; a data set
//            on a filesystem without a block device works, without device reads, statistics and
//            probe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/block/blockdev.h"
#include "plan/catalog.h"

namespace blksweep {

struct SourceSettings {
  std::string data;           // --data DIR: scanned now
  std::string catalog;        // --catalog FILE: checked against the files
  bool follow_links = false;  // the scan takes links out of the folder, too
};

struct Source {
  SourceSettings origin;              // where it comes from
  std::shared_ptr<const void> owner;  // keeps what `catalog` views alive
  Catalog catalog;
  std::optional<BlockDevice> device;
  std::optional<MountFacts> mount;
  std::string device_refused;  // why the device cannot be read instead of the files; empty: it can
  bool direct_possible = true;
  std::uint32_t direct_align = kPageBytes;  // granule of direct reads
  std::vector<std::string> warnings;        // facts with their consequence, for every run
};

Result<Source> open_source(const SourceSettings& settings);
// st_dev of what is mounted at the data set's directory now; nothing where it cannot be asked.
std::optional<std::uint64_t> filesystem_of(const std::string& root);
// What open_source() finds out beside the catalog itself, for one that is there already: device,
// mount, whether that device and direct reads are possible.
void examine_source(Source& source);
// To plan without reading: where the files and their device are there, with the granule of a run;
// without a device `device_refused` says why.
Source planning_source(const Catalog& catalog);

// The same, of which each sample's first part is read: shares everything with `whole`.
Source part_of(const Source& whole, ReadShare share);

// Why no file of the data set has a device address; empty when one has.
std::string address_refusal(const Catalog& catalog);

// Why reads cannot be polled for on its disk, with the way out; empty when they can.
std::string poll_refusal(const Source& source);

// Why not one sample can be read from the device itself; empty when one can.
std::string device_refusal(const Source& source);

}  // namespace blksweep
