// RankProcess: the keeper's child, which is the rank.
//
// Ends:      with the keeper, whatever ends that (PR_SET_PDEATHSIG); SIGTERM, SIGINT and SIGHUP are
//            for the keeper alone.
// Ownership: reaped by ended() or kill(), once.
// Errors:    the fork fails.
// Threads:   forks: of a process without threads.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>

#include "base/result.h"

namespace blksweep {

class RankProcess {
 public:
  // `be` runs in the child, which exits with what it returns.
  static Result<RankProcess> start(const std::function<Exit()>& be);

  // As of waitpid, once; nothing: it still runs, or that was told already.
  std::optional<int> ended();
  void kill();
  std::uint64_t cpu_ns() const;

 private:
  explicit RankProcess(pid_t pid) : pid_(pid) {}
  pid_t pid_;  // 0: reaped
};

}  // namespace blksweep
