// What an experiment stands on, as a spec says it: disks and data sets (docs/specs.md).
//
// Threads: values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/units.h"
#include "dataset/age.h"
#include "dataset/make.h"
#include "dataset/pack.h"
#include "model/model_spec.h"

namespace blksweep {

struct ImageDisk {  // a filesystem in a file that we make
  Bytes size;
  std::string filesystem = "ext4";
  std::optional<ModelSpec> model = {};  // emulated: memory that holds a copy of the file
  double speedup = 1;
  std::optional<Aging> aged = {};  // older files and holes, before data come to it
};

struct DeviceDisk {  // one that exists: read, never written to
  std::string device;
};

struct DiskSetup {
  std::string name;
  std::variant<ImageDisk, DeviceDisk> what;
};

struct PackOf {
  std::string source;     // name of a data set above
  PackSettings settings;  // source, directory and tool are filled in when it is made
};

struct FolderData {
  std::string path;  // below each disk of `on`; without, as it stands
};

struct DataSetup {
  std::string name;
  std::variant<MakeSettings, PackOf, FolderData> what;
  std::vector<std::string> on;  // names of disks; empty: see sites()
};

struct RigSettings {
  std::string workdir;  // absolute once it was opened
  std::vector<DiskSetup> disks;
  std::vector<DataSetup> data;

  const DiskSetup* disk(const std::string& name) const;
  const DataSetup* data_set(const std::string& name) const;
};

// A data set on a disk: an experiment of its own.
struct Site {
  const DiskSetup* disk = nullptr;  // nullptr: where the data are, or in the working folder
  const DataSetup* data = nullptr;
  std::string label() const;  // "fast, small"
};

// Disk by disk, data sets in their order; those without a disk come last. A data set without `on`
// is on every disk that can hold it (made and packed ones: images; folders: none).
std::vector<Site> sites(const RigSettings& rig);

// Names that are not there, a folder on an image, a pack whose source is not on its disk, ...
// Errors: usage, beginning with "disk NAME: " or "data NAME: ".
Result<> check_rig(const RigSettings& rig);

}  // namespace blksweep
