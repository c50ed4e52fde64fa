#include "cli/verb.h"

namespace blksweep {

void add_run(Verbs& verbs) {
  CLI::App* app = verbs.app.add_subcommand("run", "");
  app->callback([&verbs] {
    verbs.action = []() -> Result<Exit> { return unsupported("run: not built yet"); };
  });
}

}  // namespace blksweep
