#include <gtest/gtest.h>

#include "node/queue.h"
#include "support/temp_dir.h"

namespace blksweep {
namespace {

TEST(SchedulerIsModule, FindsWhatTheKernelWouldLoad) {
  const TempDir dir;
  dir.write("modules.dep",
            "kernel/block/bfq.ko.xz:\nkernel/block/kyber-iosched.ko: kernel/lib/sbitmap.ko\n"
            "kernel/drivers/block/loop.ko:\nkernel/fs/fat/vfat.ko:\n");
  const std::string dep = dir.path("modules.dep");
  EXPECT_TRUE(scheduler_is_module("bfq", dep));
  EXPECT_TRUE(scheduler_is_module("kyber", dep));
  for (const char* none : {"quantum", "bf", "", "vfat", "sbitmap"}) {
    EXPECT_FALSE(scheduler_is_module(none, dep)) << none;
  }
  EXPECT_FALSE(scheduler_is_module("bfq", dir.path("missing")));
}

}  // namespace
}  // namespace blksweep
