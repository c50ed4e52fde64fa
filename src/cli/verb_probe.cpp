#include "cli/verb.h"

namespace blksweep {

void add_probe(Verbs& verbs) {
  CLI::App* app = verbs.app.add_subcommand("probe", "");
  app->callback([&verbs] {
    verbs.action = []() -> Result<Exit> { return unsupported("probe: not built yet"); };
  });
}

}  // namespace blksweep
