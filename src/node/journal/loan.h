// Loan: what was changed on the node and how to have it as before. A record of the journal.
//
// Units:   texts as the kernel's files take them, without the line end.
// Threads: values.
#pragma once

#include <string>
#include <vector>

namespace blksweep {

// A file of /sys, /proc/sys or a cgroup, and the text to be written into it to have it as before.
struct SavedValue {
  std::string path, value;
  bool operator==(const SavedValue&) const = default;
};

enum class LoanKind {
  values,  // written back in this order, each only where it reads differently
  cgroup,  // `path`: a cgroup folder that we make, "blksweep..." in its name; processes left in it
           // are ended, but this one goes to the group `text`; it is removed
  controllers,  // `path`: a cgroup.subtree_control, `text`: what takes our addition back ("-io")
  disk,         // `path`: the name of an emulated disk; it is stopped
  image,        // `path`: an image of ours, "....blksweep-image"; unmounted and detached, and kept
  mount,        // `path`: a folder on which we mounted the device `text` ("/dev/sdb1")
};

struct Loan {
  LoanKind kind = LoanKind::values;
  std::string key;   // what two processes must not hold at once: "loop0/queue", "vm/dirty_ratio"
  std::string what;  // for messages: "the scheduler of loop0"
  std::vector<SavedValue> values = {};
  std::string path = {}, text = {};  // of a disk and an image: the number of its loop device
  bool operator==(const Loan&) const = default;
};

}  // namespace blksweep
