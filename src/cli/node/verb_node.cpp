// blksweep node: settings borrowed from the node; its parts are node_settings.cpp and
// node_exec.cpp.
#include "cli/verb.h"

namespace blksweep {
namespace {

constexpr const char* kNodeExamples =
    "examples:\n"
    "  blksweep node show DIR\n"
    "  blksweep node set --device loop0 --scheduler bfq\n"
    "  blksweep node restore";

}  // namespace

void add_node(Verbs& verbs) {
  Command node =
      verbs.root.add_subcommand("node", "queue settings, limits, CPU binding: set and restore");
  node.require_subcommand();
  node.footer(kNodeExamples);
  add_node_settings(verbs, node);
  add_node_exec(verbs, node);
}

}  // namespace blksweep
