// blksweep-mpi: one process of it is one rank, and a keeper for it (ranks/keeper.h).
#include <fmt/format.h>
#include <signal.h>

#include <cstdio>
#include <exception>

#include "base/text.h"
#include "mpi/meeting.h"
#include "mpi/rank.h"
#include "ranks/keeper.h"

namespace blksweep {
namespace {

int tell(const std::string& text, Exit exit) {
  fmt::print(stderr, "blksweep-mpi: {}\n", printable(text));
  return static_cast<int>(exit);
}

int run_program(int argc, char** argv) {
  MpiOptions options;
  if (const std::optional<Exit> done = read_options(argc, argv, options)) {
    return static_cast<int>(*done);
  }
  const KeeperSettings settings{{.patience = options.patience}, options.json, options.database};
  const auto body = [&](Board& board, const HubPlace& hub) {
    const Meeting meeting(options, board, hub);
    const Comm comm(argc, argv);
    return run_rank(options, comm, board, hub);
  };
  const Result<Exit> exit = keep_rank(settings, body);
  return exit ? static_cast<int>(*exit) : tell(exit.error().message(), exit.error().exit_code);
}

int run_safely(int argc, char** argv) {
  try {
    return run_program(argc, argv);
  } catch (const std::exception& e) {
    return tell(e.what(), Exit::failed);
  }
}

}  // namespace
}  // namespace blksweep

int main(int argc, char** argv) {
  for (const int number : {SIGPIPE, SIGXFSZ}) {  // the write fails instead
    ::signal(number, SIG_IGN);
  }
  ::signal(SIGCHLD, SIG_DFL);
  return blksweep::run_safely(argc, argv);
}
