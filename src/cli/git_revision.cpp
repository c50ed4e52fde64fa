#include "cli/git_revision.h"

namespace blksweep {

std::string git_revision() {
  return
#include "version.inc"
      ;
}

}  // namespace blksweep
