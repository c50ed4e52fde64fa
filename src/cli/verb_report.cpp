#include "cli/verb.h"

namespace blksweep {

void add_report(Verbs& verbs) {
  CLI::App* app = verbs.app.add_subcommand("report", "");
  app->callback([&verbs] {
    verbs.action = []() -> Result<Exit> { return unsupported("report: not built yet"); };
  });
}

}  // namespace blksweep
