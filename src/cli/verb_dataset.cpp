#include "cli/verb.h"

namespace blksweep {

void add_dataset(Verbs& verbs) {
  CLI::App* app = verbs.app.add_subcommand("dataset", "");
  app->callback([&verbs] {
    verbs.action = []() -> Result<Exit> { return unsupported("dataset: not built yet"); };
  });
}

}  // namespace blksweep
