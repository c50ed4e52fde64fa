#include "cli/version.h"

#include "version.inc"  // two definitions that the Makefile writes

namespace blksweep {

const char* version() { return kVersion; }
const char* git_revision() { return kGitRevision; }

}  // namespace blksweep
