// What a run asks of its node is refused before anything is changed.
#include "experiment/run_node.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace blksweep {
namespace {

TEST(RunNode, WhatNeedsADiskIsRefusedWithoutOne) {
  const Source memory;  // no block device is behind it
  std::vector<NodeWish> wishes(6);
  wishes[0].scheduler = "none";
  wishes[1].nr_requests = 4;
  wishes[2].nomerges = 2;
  wishes[3].read_ahead = Bytes{0};
  wishes[4].bandwidth_limit = Bytes{1 << 20};
  wishes[5].iops_limit = 100;
  for (const NodeWish& wish : wishes) {
    const Result<> refused = RunNode::check(memory, wish);
    ASSERT_FALSE(refused) << &wish - wishes.data();
    EXPECT_EQ(refused.error().exit_code, Exit::unsupported);
    const std::string text = refused.error().message();
    EXPECT_NE(text.find(::geteuid() == 0 ? "no block device" : "need root"), std::string::npos)
        << text;
    EXPECT_NE(text.find("leave out --scheduler"), std::string::npos) << text;
  }
}

TEST(RunNode, WhatNeedsNoDiskIsNotRefused) {
  NodeWish wish;
  EXPECT_TRUE(RunNode::check({}, wish));
  wish.pin_pages = 50;
  EXPECT_TRUE(RunNode::check({}, wish));
  wish.bind = "reader=there";
  EXPECT_FALSE(RunNode::check({}, wish)) << "a place that there is not";
}

}  // namespace
}  // namespace blksweep
