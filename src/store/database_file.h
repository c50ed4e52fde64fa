// The file of a results database before SQLite sees it: whose it is, and what lies beside it.
//
// Rule:    docs/security.md "Databases". A writer needs a file, a journal and a folder of trusted
//          owners; a reader that is root a file and a journal; any other reader may read a
//          stranger's database in which nothing is being written.
// Links:   the last name of the path must not be a symbolic link; folders may be.
// Errors:  one line with the path, the owner and the way out.
// Threads: values.
#pragma once

#include <string>

#include "base/result.h"

namespace blksweep {

class DatabaseFile {
 public:
  static Result<DatabaseFile> look(const std::string& path, bool to_write);
  bool trusted() const { return trusted_; }
  // "file:...?options" as SQLite takes it.
  std::string uri(const std::string& options) const;

 private:
  std::string real_;  // with every link of its folders resolved
  bool trusted_ = true;
};

}  // namespace blksweep
