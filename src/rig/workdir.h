// The working folder of a spec: where its images, data sets and stamps are, kept between sessions.
//
//   lock                              flock of the session that uses it, with its pid
//   DISK/disk.blksweep-image, stamp   an image and what it was made from
//   DISK/mount/DATA                   its data sets, while it is up
//   data/DATA, data/DATA.stamp        data sets without a disk
//   DISK/DATA.contents, data/DATA.contents
//
// Rights:  root makes it only where nobody else can exchange it (os/file/trust.h).
// Errors:  one line; another session that has it is named.
// Threads: one owner.
#pragma once

#include <string>
#include <utility>

#include "base/fd.h"
#include "base/result.h"
#include "rig/settings.h"

namespace blksweep {

struct WorkPaths {   // nothing is made
  std::string root;  // absolute

  static Result<WorkPaths> of(const std::string& workdir);
  std::string lock() const { return root + "/lock"; }
  std::string disk_folder(const DiskSetup& d) const { return root + "/" + d.name; }
  std::string image(const DiskSetup& d) const;
  std::string mount(const DiskSetup& d) const { return disk_folder(d) + "/mount"; }
  std::string stamp(const DiskSetup& d) const { return disk_folder(d) + "/stamp"; }
  std::string plain() const { return root + "/data"; }
  std::string stamp(const DataSetup& d) const { return plain() + "/" + d.name + ".stamp"; }
  std::string contents(const Site& site) const;  // what its data held when they were made
  // Where the data of a site are once it is ready.
  std::string data_folder(const Site& site) const;
};

class Workdir {
 public:
  static Result<Workdir> open(const std::string& workdir);
  const WorkPaths& paths() const { return paths_; }

 private:
  Workdir(WorkPaths paths, Fd lock) : paths_(std::move(paths)), lock_(std::move(lock)) {}
  WorkPaths paths_;
  Fd lock_;
};

}  // namespace blksweep
