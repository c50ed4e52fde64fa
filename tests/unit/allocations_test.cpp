// Counts what an epoch allocates while it runs: nothing per read, sample or batch.
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "loader/epoch.h"
#include "support/engines.h"
#include "support/temp_dir.h"

namespace {

std::atomic<std::uint64_t> allocations{0};

[[maybe_unused]] void* counted(std::size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* p = std::malloc(bytes)) {
    return p;
  }
  std::abort();
}

}  // namespace

// The sanitizers have their own operator new, which must stay.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
constexpr bool kCounts = true;
void* operator new(std::size_t bytes) { return counted(bytes); }
void* operator new[](std::size_t bytes) { return counted(bytes); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
#else
constexpr bool kCounts = false;
#endif

namespace blksweep {
namespace {

struct Case {
  EngineKind engine;
  Merge merge;
  CopyKind copy;
};

class Allocations : public ::testing::TestWithParam<Case> {
 protected:
  // Of Epoch::run() over so many files, or nothing when the test was skipped.
  std::uint64_t during_run(std::size_t files) {
    const TempDir dir;
    for (std::size_t f = 0; f < files; ++f) {
      dir.write("d" + std::to_string(f % 7) + "/f" + std::to_string(f), std::string(3000, 'x'));
    }
    auto source = open_source({dir.path(), ""});
    EXPECT_TRUE(source);
    LoaderSettings cell;
    cell.engine = GetParam().engine;
    cell.merge = GetParam().merge;
    cell.copy = GetParam().copy;
    cell.direct = false;
    cell.batch = 16;
    cell.shuffle = Shuffle::buffer;
    cell.window = {Bytes{400'000}, 0};
    auto planned = plan_epoch(*source, cell, 3);
    EXPECT_TRUE(planned) << planned.error().message();
    auto epoch = Epoch::prepare(*source, cell, *planned, {.seed = 3});
    if (!epoch) {
      skipped_ = epoch.error().message();
      return 0;
    }
    const std::atomic<bool> stop{false};
    const std::uint64_t before = allocations.load();
    const auto outcome = (*epoch)->run(stop);
    const std::uint64_t after = allocations.load();
    EXPECT_TRUE(outcome);
    EXPECT_EQ((*epoch)->delivery().delivered().size(), files);
    return after - before;
  }
  std::string skipped_;
};

// Starting the threads allocates a little; what matters is that more samples allocate no more.
TEST_P(Allocations, DoNotGrowWithTheSamples) {
  if (!kCounts) {
    GTEST_SKIP() << "the sanitizers replace operator new";
  }
  const std::uint64_t few = during_run(200);
  if (!skipped_.empty()) {
    GTEST_SKIP() << skipped_;
  }
  EXPECT_EQ(during_run(800), few);
  EXPECT_LE(few, 12U) << "threads: stop watch, opener, copier, consumer";
}

std::vector<Case> cases() {
  std::vector<Case> all{{EngineKind::io_uring, Merge::file, CopyKind::host},
                        {EngineKind::psync, Merge::kernel, CopyKind::host}};
  for (const EngineKind engine : support::buffered_engines()) {
    all.push_back({engine, Merge::none, CopyKind::none});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Cells, Allocations, ::testing::ValuesIn(cases()), [](const auto& one) {
  return support::engine_name({one.param.engine, one.index}) + "_" +
         std::string(to_string(one.param.merge));
});

}  // namespace
}  // namespace blksweep
