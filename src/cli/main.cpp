// The blksweep program: parse, run one verb, exit with the documented code.
#include <fmt/format.h>
#include <signal.h>

#include <cstdio>

#include "base/log.h"
#include "cli/verb.h"

namespace blksweep {
namespace {

constexpr const char* kMainFooter =
    "exit: 0 done, 1 failed, 2 usage, 3 done but incomplete,\n"
    "      77 unsupported here, 130 interrupted";

int report_error(const Error& error) {
  fmt::print(stderr, "blksweep: {}\n", error.message());
  return static_cast<int>(error.exit_code);
}

// CLI11 reports --help and --version by exception too; both are answers, on stdout.
int report_parse(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) {
    return app.exit(error);
  }
  fmt::print(stderr, "blksweep: {} (see --help)\n", error.what());
  return static_cast<int>(Exit::usage);
}

Error no_verb(const CLI::App& app) {
  std::string verbs;
  for (const CLI::App* verb :
       app.get_subcommands([](const CLI::App* verb) { return !verb->get_group().empty(); })) {
    verbs += (verbs.empty() ? "" : ", ") + verb->get_name();
  }
  return usage_error("say what to do: " + verbs + " (see --help)").value();
}

void add_verbosity(CLI::App& app) {
  app.add_flag_callback(
      "-q,--quiet", [] { set_verbosity(Verbosity::quiet); }, "no notes or warnings on stderr");
  app.add_flag_callback(
      "-v,--verbose", [] { set_verbosity(Verbosity::verbose); }, "say what is done and why");
}

int run_program(int argc, char** argv) {
  CLI::App app("blksweep: how Linux reads training data from block devices", "blksweep");
  app.require_subcommand(0, 1);  // CLI11's own complaint does not name the word that is no verb
  app.fallthrough();
  app.get_formatter()->column_width(20);
  app.footer(kMainFooter);
  app.set_version_flag("--version", BLKSWEEP_VERSION);
  add_verbosity(app);
  Verbs verbs{app, {argv, argv + argc}, {}};
  add_dataset(verbs);
  add_catalog(verbs);
  add_plan(verbs);
  add_simulate(verbs);
  add_run(verbs);
  add_report(verbs);
  add_timeline(verbs);
  add_probe(verbs);
  add_disk(verbs);
  add_map(verbs);
  add_cache(verbs);
  add_node(verbs);
  add_doctor(verbs);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return report_parse(app, error);
  }
  if (!verbs.action) {
    return report_error(no_verb(app));
  }
  const Result<Exit> result = verbs.action();
  return result ? static_cast<int>(*result) : report_error(result.error());
}

}  // namespace
}  // namespace blksweep

int main(int argc, char** argv) {
  // Whoever started us may ignore it, and then no child could be waited for.
  ::signal(SIGCHLD, SIG_DFL);
  return blksweep::run_program(argc, argv);
}
