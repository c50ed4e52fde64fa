// Where a report goes: everything is made in a private folder first, and put under its name at the
// end, file by file in one step each.
//
// Links:   one that stands under a name of ours is replaced, never followed; `figures` must be a
//          folder; root makes no report where somebody else could exchange it (docs/security.md).
// Files:   what an earlier report of ours left and this one has not goes (NAME.none says so).
// Errors:  one line with the name; what was put before it stays.
// Threads: one owner.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/fd.h"
#include "base/result.h"
#include "os/file/private_folder.h"
#include "store/result_reader.h"

namespace blksweep {

class ReportFolder {
 public:
  // Makes `folder` where there is none.
  static Result<ReportFolder> begin(const std::string& folder);
  const std::string& working() const { return working_.path(); }           // absolute
  Result<> write(const std::string& name, const std::string& text) const;  // into working()
  // The database of the moment that the tables were read at, for the scripts: whoever writes to it
  // goes on. It is not published.
  Result<> freeze(ResultReader reader);
  std::string database() const { return beside_ ? beside_->path() + "/results.db" : ""; }
  Result<> publish() const;

 private:
  ReportFolder(std::string folder, Fd fd, PrivateFolder working)
      : folder_(std::move(folder)), fd_(std::move(fd)), working_(std::move(working)) {}
  std::string folder_;
  Fd fd_;
  PrivateFolder working_;
  std::optional<PrivateFolder> beside_;
};

}  // namespace blksweep
