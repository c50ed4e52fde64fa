// blksweep cache drop|warm|stat: their options and help.
#include "cli/cache/files.h"

#include <memory>

#include "cli/verb.h"
#include "os/process/signals.h"

namespace blksweep {
namespace {

constexpr const char* kDropHelp =
    R"(Without a path: sync, then drop_caches for the whole node; needs root. --inodes
alone leaves inode tables in the device's page cache: cold means --all. With
paths: what is dirty is written, and their pages are dropped (MADV_PAGEOUT where
one other process maps them); dentries and inodes of a tree stay, the kernel
drops them for the node only. Links are not followed, other filesystems not
entered. What stayed is traced to who holds it; exit 3 then.

examples:
  blksweep cache drop
  blksweep cache drop DIR
  blksweep cache drop --pages DIR FILE --json)";

constexpr const char* kWarmHelp =
    R"(Reads the data in the order of its device addresses, by readahead, with
nothing copied to user space. --inodes: dentries and inodes alone, in inode
order. Holes are left out. Exit 3 when something is not resident afterwards.

examples:
  blksweep cache warm DIR
  blksweep cache warm DIR --inodes
  blksweep cache warm DIR FILE --json)";

constexpr const char* kStatHelp =
    R"(Resident, dirty, under writeback, evicted (the page cache remembers that it held
them) and recently evicted (reading again would count as a refault). A file's
map has up to 64 cells from its begin to its end: a dot for nothing, a rising
block (in ASCII 1 to 7) for a part, a full block (#) for all. A folder shows its
largest sub-folders. Asking opens each file, which brings its inode in.

examples:
  blksweep cache stat DIR
  blksweep cache stat DIR/*.bin
  blksweep cache stat DIR --json)";

using FileArguments = std::shared_ptr<CacheFilesOptions>;

struct CacheVerb {
  const char* name;
  const char* help;
  const char* footer;
  Result<Exit> (*action)(const CacheFilesOptions&);
};

Command add_verb(Verbs& verbs, Command cache, const CacheVerb& verb, const FileArguments& o) {
  Command app = cache.add_subcommand(verb.name, verb.help);
  app.footer(verb.footer);
  app.add_option("PATH", o->paths, "files and folders");
  app.add_flag("--json", o->json, "one JSON document");
  app.callback([&verbs, o, action = verb.action] {
    verbs.action = [o, action] {
      install_stop_signals();
      return action(*o);
    };
  });
  return app;
}

}  // namespace

void add_cache_files(Verbs& verbs, Command cache) {
  auto o = std::make_shared<CacheFilesOptions>();
  Command drop =
      add_verb(verbs, cache, {"drop", "empty caches, and prove it", kDropHelp, cache_drop}, o);
  Option pages = drop.add_flag("--pages", o->pages, "pages only (1)");
  Option inodes = drop.add_flag("--inodes", o->inodes, "dentries and inodes only (2)");
  drop.add_flag("--all", o->all, "both (3; the default)").excludes(pages).excludes(inodes);
  pages.excludes(inodes);
  o = std::make_shared<CacheFilesOptions>();
  Command warm =
      add_verb(verbs, cache, {"warm", "read files into the cache", kWarmHelp, cache_warm}, o);
  warm.find("PATH").required();
  warm.add_flag("--inodes", o->inodes, "dentries and inodes alone");
  o = std::make_shared<CacheFilesOptions>();
  Command stat =
      add_verb(verbs, cache, {"stat", "what of files is in the cache", kStatHelp, cache_stat}, o);
  stat.find("PATH").required();
}

}  // namespace blksweep
