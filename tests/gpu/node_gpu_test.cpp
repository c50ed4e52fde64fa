// What a node's GPUs are called, by the driver and by its management library.
#include <gtest/gtest.h>

#include "doctor/driver_facts.h"
#include "stage/cuda/nvml.h"
#include "support/standin.h"

namespace blksweep {
namespace {

TEST(NodeGpu, IsNamedWithItsMemoryAndDriver) {
  const Standin standin;
  SKIP_WITHOUT_STANDIN(standin);
  EXPECT_EQ(gpu_of_node(), "Stand-in (3.73 GiB); driver 999.0");
}

TEST(NodeGpu, TheDriverNamesEachOfThem) {
  Standin standin;
  SKIP_WITHOUT_STANDIN(standin);
  EXPECT_EQ(ask_driver().devices, "Stand-in");
  standin.set("devices=2");
  const DriverFacts two = ask_driver();
  EXPECT_EQ(two.devices, "Stand-in, Stand-in");
  EXPECT_EQ(two.refusal, "");
  EXPECT_NE(two.version.find('.'), std::string::npos) << two.version;
  standin.set("devices=0");
  EXPECT_NE(ask_driver().refusal.find("cuInit fails"), std::string::npos);
}

}  // namespace
}  // namespace blksweep
