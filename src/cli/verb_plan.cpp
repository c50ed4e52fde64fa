#include "cli/verb.h"

namespace blksweep {

void add_plan(Verbs& verbs) {
  CLI::App* app = verbs.app.add_subcommand("plan", "");
  app->callback([&verbs] {
    verbs.action = []() -> Result<Exit> { return unsupported("plan: not built yet"); };
  });
}

}  // namespace blksweep
