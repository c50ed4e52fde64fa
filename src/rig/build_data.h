// Makes one data set of a spec in its folder.
//
// Errors:  as make_dataset() and pack_dataset(), beginning with the site; Exit::interrupted.
// Threads: one caller.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "rig/settings.h"
#include "rig/workdir.h"

namespace blksweep {

struct BuildListener {
  // "small on fast: 512 of 2,000 files": often; the caller shows it now and then.
  std::function<void(const std::string&)> progress = [](const std::string&) {};
  std::string tool;  // version and revision, for the manifest of a pack
};

struct BuildPlace {
  const WorkPaths& paths;
  const RigSettings& rig;
  const BuildListener& listener;
};
// The folder of the site must not be there, or be empty.
Result<> build_data(const Site& site, const BuildPlace& place);

// What is there is removed with all below it, links not followed.
Result<> remove_tree(const std::string& folder);

}  // namespace blksweep
