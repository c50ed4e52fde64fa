#include "loader/memory_check.h"

#include <gtest/gtest.h>

#include <optional>

#include "os/memory/memory_room.h"

namespace blksweep {
namespace {

TEST(MemoryCheck, AllBuffersTogetherFitOrAreRefused) {
  const NodeMemory node{{900}, {1000}};
  EXPECT_TRUE(check_memory({}, {}, node));
  EXPECT_TRUE(check_memory({{900}}, {}, node));
  EXPECT_FALSE(check_memory({{901}}, {}, node));
  EXPECT_TRUE(check_memory({{500}, {400}}, {}, node));
  EXPECT_FALSE(check_memory({{500}, {401}}, {}, node));
  EXPECT_FALSE(check_memory({{300}, {300}, {301}}, {}, node));
}

// Page cache is no free memory, but goes when it has to.
TEST(MemoryCheck, FourFifthsOfTheNodeMayBeHadThoughLessIsFree) {
  const NodeMemory node{{10}, {1000}};
  EXPECT_TRUE(check_memory({{800}}, {}, node));
  EXPECT_FALSE(check_memory({{801}}, {}, node));
}

TEST(MemoryCheck, NamesTheSumAndTheOptionThatHelps) {
  const NodeMemory node{{1 << 20}, {1 << 20}};
  const auto why = check_memory({{1 << 20}, {3 << 20}}, {}, node).error().message();
  EXPECT_NE(why.find("4 MiB"), std::string::npos) << why;
  EXPECT_NE(why.find("this node has 1 MiB: use a smaller --window"), std::string::npos) << why;
  LoaderSettings workers;
  workers.workers = 2;
  EXPECT_NE(check_memory({{2 << 20}}, workers, node).error().message().find("fewer workers"),
            std::string::npos);
}

// The kernel would end the run in the middle: other memory of its own comes on top.
TEST(MemoryCheck, TheLimitOfTheCgroupIsMoreThanTheBuffers) {
  const NodeMemory node{{10 << 20}, {10 << 20}, Bytes{2 << 20}};
  EXPECT_TRUE(check_memory({{(2 << 20) - 1}}, {}, node));
  const auto refused = check_memory({{1 << 20}, {1 << 20}}, {}, node);
  ASSERT_FALSE(refused);
  EXPECT_NE(
      refused.error().message().find("this process's cgroup is 2 MiB: use a smaller --window"),
      std::string::npos)
      << refused.error().message();
  EXPECT_FALSE(check_memory({{3}}, {}, NodeMemory{{1}, {1}, Bytes{1000}})) << "the node has less";
}

TEST(MemoryCheck, ThisNodeHasSome) {
  EXPECT_GT(node_memory().all.n, 1U << 20);
  EXPECT_LE(node_memory().free.n, node_memory().all.n);
  const std::optional<Bytes> limit = node_memory().limit, told = memory_room().cgroup_limit;
  EXPECT_EQ(limit.value_or(Bytes{0}).n, told.value_or(Bytes{0}).n);
}

}  // namespace
}  // namespace blksweep
