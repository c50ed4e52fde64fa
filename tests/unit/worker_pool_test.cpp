// The pool does all of its work with the threads that it gets.
#include "base/worker_pool.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>

namespace blksweep {
namespace {

constexpr uid_t kNobody = 61'234;  // has no process of its own
constexpr unsigned kWanted = 16;
constexpr std::size_t kItems = 1000;

// Bit 0: not every item was done once; bit 1: as many threads as wanted.
int work_with_few_threads() {
  const rlimit few{4, 4};
  if (::setrlimit(RLIMIT_NPROC, &few) != 0 || ::setresuid(kNobody, kNobody, kNobody) != 0) {
    return 77;
  }
  WorkerPool pool(kWanted);
  std::atomic<std::size_t> sum{0};
  pool.run(kItems, [&](unsigned, std::size_t item) { sum += item; });
  return (sum == kItems * (kItems - 1) / 2 ? 0 : 1) | (pool.threads() < kWanted ? 0 : 2);
}

TEST(WorkerPool, WorksWithThoseThreadsThatCanBeStarted) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(work_with_few_threads());
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  if (WEXITSTATUS(status) == 77) {
    GTEST_SKIP() << "needs root to become another user";
  }
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace blksweep
