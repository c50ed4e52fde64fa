// blksweep cache: page, dentry and inode caches; its parts are cache_files.cpp and cache_pin.cpp.
#include "cli/verb.h"

namespace blksweep {
namespace {

constexpr const char* kCacheExamples =
    "examples:\n"
    "  blksweep cache drop\n"
    "  blksweep cache stat DIR\n"
    "  blksweep cache pin --inodes --name warm-inodes DIR";

}  // namespace

void add_cache(Verbs& verbs) {
  Command cache =
      verbs.root.add_subcommand("cache", "page, dentry and inode caches: drop, warm, stat, pin");
  cache.require_subcommand();
  cache.footer(kCacheExamples);
  add_cache_files(verbs, cache);
  add_cache_pin(verbs, cache);
}

}  // namespace blksweep
