// Rig: the disks and data sets of a spec, made where they are missing, set up, and taken down.
//
// Order:   one disk is up at a time: what is missing on it is made first, without its model's
//          delays; then it is set up to be measured. Each thing is in the node's journal
//          (node/journal) before it is made: down(), the destructor, the next start of the same
//          spec or `blksweep node restore` take it away, however the program ended.
// Kept:    images and data sets, in the working folder, recognised by their stamps (stamp.h).
// Rights:  disks need root, Exit::unsupported says so before anything is made.
// Errors:  one line; Exit::interrupted when a stop was asked for.
// Threads: one owner.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "node/journal/borrowing.h"
#include "rig/build_data.h"
#include "rig/settings.h"
#include "rig/workdir.h"

namespace blksweep {

// Before anything is made: disks need root, loop devices, FUSE.
Result<> check_rig_rights(const RigSettings& settings);

class Rig {
 public:
  // Takes down what a killed session of this working folder has left. `settings` outlives it.
  static Result<Rig> open(const RigSettings& settings, BuildListener listener);
  // The folder of the site's data, on its disk: ready to be measured.
  Result<std::string> ready(const Site& site);
  Result<> down();

 private:
  Rig(const RigSettings& settings, BuildListener listener, Workdir workdir, Borrowing borrowing)
      : settings_(&settings),
        listener_(std::move(listener)),
        workdir_(std::move(workdir)),
        borrowing_(std::move(borrowing)) {}

  const WorkPaths& paths() const { return workdir_.paths(); }
  BuildPlace place() const { return {paths(), *settings_, listener_}; }
  std::string key() const;
  Result<> up(const DiskSetup& disk);
  Result<> up_image(const DiskSetup& disk, const ImageDisk& image);
  Result<> up_device(const DiskSetup& disk, const DeviceDisk& device);
  Result<> begin_image(const DiskSetup& disk, const ImageDisk& image);
  Result<> build_missing(const DiskSetup& disk, std::vector<std::string> parts, std::size_t made);
  Result<> mount_image(const DiskSetup& disk, const ImageDisk& image);
  Result<> start_emulated(const DiskSetup& disk, const ImageDisk& image, bool to_build);
  Result<> build_plain(const Site& site);

  const RigSettings* settings_;
  BuildListener listener_;
  Workdir workdir_;      // the lock goes last
  Borrowing borrowing_;  // what is up
  std::string disk_up_;
};

// Of the emulated disk of that name in the registry.
std::string emulated_name(const WorkPaths& paths, const DiskSetup& disk);

}  // namespace blksweep
