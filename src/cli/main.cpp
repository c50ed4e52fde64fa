// The blksweep program: parse, run one verb, exit with the documented code.
#include <fmt/format.h>
#include <signal.h>

#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <system_error>

#include "base/log.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/verb.h"
#include "cli/version.h"
#include "os/process/fatal_end.h"

namespace blksweep {
namespace {

constexpr const char* kMainFooter =
    "exit: 0 done, 1 failed, 2 usage, 3 done but incomplete,\n"
    "      77 unsupported here, 130 interrupted";

int report_error(const Error& error) {
  fmt::print(stderr, "blksweep: {}\n", printable(error.message()));
  return static_cast<int>(error.exit_code);
}

void add_verbosity(Command root) {
  root.add_flag(
      "-q,--quiet", [] { set_verbosity(Verbosity::quiet); },
      "no notes, warnings or progress on stderr");
  root.add_flag(
      "-v,--verbose", [] { set_verbosity(Verbosity::verbose); }, "say what is done and why");
}

int run_program(int argc, char** argv) {
  CommandLine line("blksweep: how Linux reads training data from block devices", "blksweep",
                   fmt::format("{} ({})", version(), git_revision()));
  line.root().footer(kMainFooter);
  add_verbosity(line.root());
  Verbs verbs{line.root(), {argv, argv + argc}, {}};
  add_dataset(verbs);
  add_catalog(verbs);
  add_plan(verbs);
  add_simulate(verbs);
  add_run(verbs);
  add_fio(verbs);
  add_report(verbs);
  add_paper(verbs);
  add_timeline(verbs);
  add_trace(verbs);
  add_replay(verbs);
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
    const std::string verbs_there = joined(line.verbs(), ", ");
    return report_error(usage_error("say what to do: " + verbs_there + " (see --help)").value());
  }
  const Result<Exit> result = verbs.action();
  const Result<> told = finish_answer();
  if (!result) {
    return report_error(result.error());
  }
  return told ? static_cast<int>(*result) : report_error(told.error());
}

// What is thrown unwinds, so that everything is given back, and is an error like others.
int run_safely(int argc, char** argv) {
  try {
    return run_program(argc, argv);
  } catch (const std::bad_alloc&) {
    return report_error({"out of memory (ulimit -v, or the node has none left)"});
  } catch (const std::system_error& e) {
    const bool thread = e.code() == std::errc::resource_unavailable_try_again;
    return report_error(
        {thread
             ? std::string("no thread can be started (RLIMIT_NPROC, pids.max, memory): ") + e.what()
             : std::string(e.what())});
  } catch (const std::exception& e) {
    return report_error({e.what()});
  }
}

}  // namespace
}  // namespace blksweep

int main(int argc, char** argv) {
  // Whoever started us may ignore it, and then no child could be waited for.
  ::signal(SIGCHLD, SIG_DFL);
  blksweep::install_fatal_end();
  return blksweep::run_safely(argc, argv);
}
