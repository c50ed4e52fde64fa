#include "os/cpu_awake.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "support/temp_dir.h"

namespace blksweep {
namespace {

TEST(CpuAwake, AsksForNoLatencyAtAll) {
  const TempDir dir;
  const std::string file = dir.path() + "/latency";
  std::ofstream(file) << "";
  ASSERT_TRUE(CpuAwake::hold(file));
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  EXPECT_EQ(text.str(), std::string(4, '\0'));
}

TEST(CpuAwake, NamesTheFileAndTheWayOutWhereItIsRefused) {
  const auto refused = CpuAwake::hold("/proc/no/such/file");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("/proc/no/such/file"), std::string::npos);
  EXPECT_NE(refused.error().message().find("leave the option away"), std::string::npos);
}

}  // namespace
}  // namespace blksweep
