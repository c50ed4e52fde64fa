#include "cli/verb.h"

namespace blksweep {

void add_catalog(Verbs& verbs) {
  CLI::App* app = verbs.app.add_subcommand("catalog", "");
  app->callback([&verbs] {
    verbs.action = []() -> Result<Exit> { return unsupported("catalog: not built yet"); };
  });
}

}  // namespace blksweep
