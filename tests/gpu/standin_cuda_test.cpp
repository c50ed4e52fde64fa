// The stand-in itself: each of its checks finds the mistake that it is there for.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <cstring>
#include <thread>

#include "base/clock.h"
#include "base/memory.h"
#include "stage/cuda/device_cuda.h"
#include "stage/cuda/kernels_cuda.h"
#include "support/sanitizers.h"
#include "support/standin.h"

namespace blksweep {
namespace {

constexpr std::size_t kBytes = std::size_t{1} << 20;

// Mistakes are made with the driver's own calls, as the stage would have to make them.
class StandinChecks : public ::testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_STANDIN(standin_);
    ASSERT_TRUE(open_device(0));
    standin_.set("keep=1");
    stream_ = *make_stream();
    event_ = *make_event(true);
    host_ = *pinned_memory(kBytes);
    std::memset(host_.get(), 1, kBytes);
    device_ = *device_memory<std::byte>(kBytes, {"", ""});
  }
  void TearDown() override {
    if (standin_.there()) {
      cuda_.stream_wait(stream_.get());
      EXPECT_EQ(standin_.complaints(), "");
    }
  }

  // `to`: behind the beginning of the GPU's memory.
  CUresult copy(const void* from, std::size_t bytes, std::size_t to = 0) {
    return cuda_.copy_to_device(on_gpu(device_.get() + to), from, bytes, stream_.get());
  }
  void slow_link() { standin_.set("link=0.05"); }  // 20 ms for kBytes
  void expect_complaint(const std::string& text) {
    cuda_.stream_wait(stream_.get());
    const std::string said = standin_.complaints();
    EXPECT_NE(said.find(text), std::string::npos) << "it said: " << said;
  }

  Standin standin_;
  const CudaDriver& cuda_ = cuda_driver();
  Stream stream_;
  Event event_;
  PinnedMemory host_;
  DeviceMemory<std::byte> device_;
};

TEST_F(StandinChecks, NothingIsSaidOfWhatIsRight) {
  EXPECT_EQ(copy(host_.get(), kBytes), CUDA_SUCCESS);
  EXPECT_EQ(cuda_.event_record(event_.get(), stream_.get()), CUDA_SUCCESS);
  EXPECT_EQ(cuda_.event_wait(event_.get()), CUDA_SUCCESS);
}

TEST_F(StandinChecks, ASourceThatChangesBeforeTheCopyRan) {
  if (support::thread_sanitizer()) {
    GTEST_SKIP() << "the thread sanitizer ends the program at such a race with the GPU's copy";
  }
  slow_link();
  copy(host_.get(), kBytes);
  static_cast<std::byte*>(host_.get())[kBytes - 1] ^= std::byte{1};
  expect_complaint("changed before it ran");
}

// Half a second: were this thread held until the copy looks at its source, the copy would read what
// is no more.
TEST_F(StandinChecks, ASourceThatIsUnmappedBeforeTheCopyRan) {
  standin_.set("link=0.002");
  void* const there =
      ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_TRUE(register_host(there, kBytes));
  copy(there, kBytes);
  ::munmap(there, kBytes);
  expect_complaint("freed before it ran");
  cuda_.host_unregister(there);
  expect_complaint("freed before it was unregistered");
}

TEST_F(StandinChecks, MemoryThatIsGivenBackWhileACopyUsesIt) {
  slow_link();
  auto arena = *PageBuffer::allocate({kBytes});
  ASSERT_TRUE(register_host(arena.data(), kBytes));
  copy(arena.data(), kBytes);
  cuda_.host_unregister(arena.data());
  expect_complaint("cuMemHostUnregister of memory that a copy in flight uses");
  copy(host_.get(), kBytes);
  device_.reset();
  expect_complaint("cuMemFree of memory that a copy in flight uses");
}

TEST_F(StandinChecks, ASourceThatIsNotPinnedOrInPartOnly) {
  auto arena = *PageBuffer::allocate({kBytes});
  EXPECT_NE(copy(arena.data(), kBytes), CUDA_SUCCESS);
  expect_complaint("not pinned");
  ASSERT_TRUE(register_host(arena.data(), kBytes / 2));
  EXPECT_NE(copy(arena.data(), kBytes), CUDA_SUCCESS);
  expect_complaint("in part");
  cuda_.host_unregister(arena.data());
  standin_.set("pageable=1");
  EXPECT_EQ(copy(arena.data(), kBytes), CUDA_SUCCESS);
}

TEST_F(StandinChecks, APageableCopyBlocks) {
  standin_.set("pageable=1,pageable_link=0.05");
  auto arena = *PageBuffer::allocate({kBytes});
  const std::int64_t begin = now_ns();
  copy(arena.data(), kBytes);
  EXPECT_GE(now_ns() - begin, 20'000'000);
}

TEST_F(StandinChecks, WhatIsGivenBackTwice) {
  void* const memory = device_.get();
  device_.reset();
  cuda_.memory_free(on_gpu(memory));
  expect_complaint("memory of the GPU's that is not there is freed");
  void* const pinned = host_.get();
  host_.reset();
  cuda_.host_free(pinned);
  expect_complaint("pinned memory that is not there");
  CUevent event = event_.get();
  event_.reset();
  cuda_.event_destroy(event);
  expect_complaint("an event that is not there");
  Stream other = *make_stream();
  CUstream stream = other.get();
  other.reset();
  cuda_.stream_destroy(stream);
  expect_complaint("a stream that is not there");
}

TEST_F(StandinChecks, AnEventThatWasNotRecorded) {
  float ms = 0;
  EXPECT_EQ(cuda_.event_elapsed(&ms, event_.get(), event_.get()), CUDA_ERROR_INVALID_HANDLE);
  expect_complaint("the elapsed time of an event that was not recorded");
  cuda_.event_query(event_.get());
  expect_complaint("a query of an event that was not recorded");
  cuda_.event_wait(event_.get());
  expect_complaint("a wait of an event that was not recorded");
  cuda_.stream_wait_event(stream_.get(), event_.get(), 0);
  expect_complaint("a stream's wait of an event that was not recorded");
}

TEST_F(StandinChecks, StreamsThatShareMemoryAndDoNotWait) {
  slow_link();
  const Stream other = *make_stream();
  copy(host_.get(), kBytes);
  launch_memory_pressure(device_.get(), kBytes, 1000, 1, other.get());
  cuda_.stream_wait(other.get());
  expect_complaint("does not wait");
  // With the wait it is right.
  copy(host_.get(), kBytes);
  cuda_.event_record(event_.get(), stream_.get());
  cuda_.stream_wait_event(other.get(), event_.get(), 0);
  launch_memory_pressure(device_.get(), kBytes, 1000, 1, other.get());
  cuda_.stream_wait(other.get());
}

TEST_F(StandinChecks, AThreadThatUsesNoDevice) {
  std::thread([&] { EXPECT_FALSE(make_stream()); }).join();
  expect_complaint("on a thread that uses no device");
}

TEST_F(StandinChecks, TheHostCannotTouchTheGpusMemory) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(std::memset(device_.get(), 0, 1), "");
}

TEST_F(StandinChecks, WithoutKeepAComplaintEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  standin_.set("keep=0");
  EXPECT_DEATH(cuda_.event_query(event_.get()), "not recorded");
  standin_.set("keep=1");
}

TEST_F(StandinChecks, ItsClockIsAnotherOne) {
  standin_.set("drift=0.01,offset=5000000");
  const Event begin = *make_event(false);
  launch_spin(20'000'000, 1, stream_.get());  // so that what follows is there in time
  cuda_.event_record(begin.get(), stream_.get());
  launch_spin(10'000'000, 1, stream_.get());
  cuda_.event_record(event_.get(), stream_.get());
  cuda_.event_wait(event_.get());
  float ms = 0;
  cuda_.event_elapsed(&ms, begin.get(), event_.get());
  EXPECT_NEAR(ms, 10.002, 0.0015) << "on its own clock, in steps of 0.5 us";
  const auto truth =
      static_cast<double>(standin_.event_ns(event_.get()) - standin_.event_ns(begin.get()));
  EXPECT_NEAR(truth, (10'000'000 / 1.01) + 2'000, 2);
}

}  // namespace
}  // namespace blksweep
