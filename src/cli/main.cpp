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

void add_verbosity(Command root) {
  root.add_flag(
      "-q,--quiet", [] { set_verbosity(Verbosity::quiet); }, "no notes or warnings on stderr");
  root.add_flag(
      "-v,--verbose", [] { set_verbosity(Verbosity::verbose); }, "say what is done and why");
}

int run_program(int argc, char** argv) {
  CommandLine line("blksweep: how Linux reads training data from block devices", "blksweep",
                   BLKSWEEP_VERSION);
  line.root().footer(kMainFooter);
  add_verbosity(line.root());
  Verbs verbs{line.root(), {argv, argv + argc}, {}};
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
  if (const std::optional<Exit> done = line.parse(argc, argv)) {
    return static_cast<int>(*done);
  }
  if (!verbs.action) {
    const std::string verbs_there = fmt::format("{}", fmt::join(line.verbs(), ", "));
    return report_error(usage_error("say what to do: " + verbs_there + " (see --help)").value());
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
