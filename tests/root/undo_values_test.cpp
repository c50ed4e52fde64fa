#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "node/journal/undo.h"
#include "node/setting.h"
#include "support/bare_loop.h"

namespace blksweep {
namespace {

// nr_requests sets async_depth anew, so that one pass in this order leaves another value.
TEST(UndoValues, ASettingThatAnotherOneSetsAnewComesBackToo) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "needs root to set up a loop device";
  }
  const Result<LoopDevice> disk = LoopDevice::make();
  ASSERT_TRUE(disk) << disk.error().message();
  if (!disk->set_scheduler("mq-deadline")) {
    GTEST_SKIP() << "no mq-deadline in this kernel";
  }
  const std::string queue = "/sys/block/" + disk->name() + "/queue/";
  const std::string depth = queue + "iosched/async_depth";
  const std::string requests = queue + "nr_requests";
  ASSERT_TRUE(write_setting(requests, "200"));
  ASSERT_TRUE(write_setting(depth, "24"));
  JournalRecord record;
  record.loan.kind = LoanKind::values;
  record.loan.values = {{depth, "24"}, {requests, "200"}};
  ASSERT_TRUE(write_setting(requests, "64"));
  const Result<std::string> undone = undo(record, {"/sys"});
  ASSERT_TRUE(undone) << undone.error().message();
  EXPECT_EQ(read_setting(requests).value(), "200");
  EXPECT_EQ(read_setting(depth).value(), "24");
}

}  // namespace
}  // namespace blksweep
