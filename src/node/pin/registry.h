// PinRegistry: which pins there are, one file per pin in /run/blksweep/pins/.
//
// Rights:  folders of this user alone, no links followed (os/file/own_folder.h); Exit::unsupported
//          without the right to write below /run.
// Claim:   a name belongs to the daemon whose pid and start time are in its file, as long as that
//          lives; a dead one's name may be taken over.
// Errors:  a damaged file is named, with the way out.
// Threads: any; processes change the registry one at a time (flock on the folder).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "node/pin/pin.h"
#include "os/process/process_id.h"

namespace blksweep {

enum class PinKind { inodes, pages };
const char* to_string(PinKind kind);

struct PinEntry {
  std::string name;
  PinKind kind = PinKind::inodes;
  bool held = false;  // false: still pinning
  PinCount count;
  Bytes kernel_memory{0};  // estimate
  std::string memory_source;
  std::int64_t slab_growth = 0;  // bytes: of all slabs of the node, while it was pinned
  std::int64_t took_ns = 0, since_unix_ns = 0;
  ProcessId daemon;
  std::vector<std::string> roots;  // as given
};

std::string to_json_text(const PinEntry& entry);
Result<PinEntry> parse_pin_entry(const std::string& text, const std::string& file);

// Letters, digits, '-' and '_', at most 32, the first a letter or a digit.
Result<> check_pin_name(const std::string& name);

class PinRegistry {
 public:
  explicit PinRegistry(std::string base = "/run");

  // An error that says who has the name, while its daemon lives.
  Result<> check_free(const std::string& name) const;
  // The same and, in one step, the name is this entry's.
  Result<> claim(const PinEntry& entry) const;
  Result<> save(const PinEntry& entry) const;
  // Without a pin of that name: an error that lists those there are.
  Result<PinEntry> load(const std::string& name) const;
  Result<std::vector<std::string>> names() const;  // sorted
  // Only while it still is that daemon's, who may have been followed by another.
  Result<> remove(const std::string& name, const ProcessId& daemon) const;
  // A file that cannot be read.
  Result<> discard(const std::string& name) const;

 private:
  std::string file(const std::string& name) const { return root_ + "/" + name; }
  Result<> make() const;
  Result<Fd> lock() const;

  std::string base_, root_;
};

}  // namespace blksweep
