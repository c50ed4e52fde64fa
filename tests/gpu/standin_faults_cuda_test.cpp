// What the CUDA stages make of a driver that fails, refuses or is old: every call of it in turn.
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <array>

#include "base/clock.h"
#include "base/memory.h"
#include "stage/cuda/cuda_stage.h"
#include "stage/cuda/device_cuda.h"
#include "support/standin.h"

namespace blksweep {
namespace {

constexpr std::size_t kBytes = std::size_t{256} << 10;

class StandinFaults : public ::testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_STANDIN(standin_);
    arena_ = *PageBuffer::allocate({kBytes});
  }

  CudaCopySettings settings(Staging staging) {
    CudaCopySettings s;
    s.staging = staging;
    s.streams = streams_;
    s.batch_bytes = {kBytes};
    s.batch_parts = 4;
    s.arena = arena_.span();
    return s;
  }
  // A few batches through both stages, as a run would; the first error of either.
  Result<> run(Staging staging = Staging::pinned, ConsumerKind kind = ConsumerKind::cuda) {
    BLKSWEEP_TRY(const auto copy, make_cuda_copy(settings(staging)));
    BLKSWEEP_TRY(
        const auto consumer,
        make_cuda_consumer({.device = 0, .kind = kind, .typical = std::chrono::microseconds(200)}));
    const std::array<BatchPart, 4> parts{{{arena_.data(), 50'000},
                                          {arena_.data() + 60'000, 40'000},
                                          {arena_.data() + 120'000, 30'000},
                                          {arena_.data() + 160'000, 50'000}}};
    for (std::uint32_t b = 0; b < 3; ++b) {
      const Result<> begun = copy->begin(b, parts);
      const auto finished = copy->finish(b);
      BLKSWEEP_CHECK(begun);
      BLKSWEEP_CHECK(finished);
      std::array<std::uint8_t, 4> wrong{};
      BLKSWEEP_CHECK(copy->release(b));
      BLKSWEEP_CHECK(copy->check(b, parts, wrong));
      EXPECT_EQ(wrong[0] + wrong[1] + wrong[2] + wrong[3], 0);
      BLKSWEEP_CHECK(consumer->launch(b, std::chrono::microseconds(200), {.at_ns = now_ns()}));
      BLKSWEEP_TRY([[maybe_unused]] const ComputeTimes busy, consumer->finish(b));
    }
    means_ = copy->means();
    return {};
  }
  std::string why_not(const Result<>& result) { return result ? "" : result.error().message(); }

  Standin standin_;
  PageBuffer arena_;
  std::string means_;
  std::uint32_t streams_ = 2;
};

// A passing error of any call ends the run with that call's words, or is made up for; nothing is
// left behind (the stand-in looks when the process ends) and the next run is whole.
TEST_F(StandinFaults, EveryCallMayFailOnceAndTheNextRunIsWhole) {
  const auto fails = [&](const std::string& call, int use) {
    standin_.set(fmt::format("fail={}:{}:801", call, use));
    const Result<> ended =
        use == 1 ? run(Staging::register_each, ConsumerKind::cuda_memory) : run(Staging::per_batch);
    EXPECT_TRUE(ended || ended.error().exit_code == Exit::unsupported ||
                ended.error().message().find("supported") != std::string::npos)
        << call << ": " << why_not(ended);
    EXPECT_FALSE(cuda_context_lost()) << call;
    standin_.reset();
  };
#define BLKSWEEP_CALL_NAME(member, call, version, ...) #call,
  for (const char* const call : {BLKSWEEP_CUDA_CALLS(BLKSWEEP_CALL_NAME) "cuMemcpyBatchAsync"}) {
    fails(call, 1);
  }
  // Once an epoch would have begun.
  for (const char* const call :
       {"cuStreamCreate", "cuEventCreate", "cuEventRecord", "cuStreamWaitEvent", "cuLaunchKernel",
        "cuMemHostAlloc", "cuMemcpyDtoHAsync"}) {
    fails(call, 3);
  }
  const Result<> next = run();
  EXPECT_TRUE(next) << why_not(next);
}

TEST_F(StandinFaults, ARefusedBatchOfCopiesIsMadeOneByOne) {
  streams_ = 1;  // so that it has pieces enough for a call behind its first
  ASSERT_TRUE(run());
  EXPECT_NE(means_.find("cuMemcpyBatchAsync, "), std::string::npos) << means_;
  standin_.set("batch=0");
  ASSERT_TRUE(run());
  EXPECT_NE(means_.find("refused: operation not supported"), std::string::npos) << means_;
  EXPECT_EQ(means_.find("cuMemcpyBatchAsync, "), std::string::npos) << means_;
}

TEST_F(StandinFaults, AnErrorThatIsNotKnownIsNotTheEndWhereTheGpuStillAnswers) {
  standin_.set("fail=cuEventSynchronize:3:999");
  const Result<> ended = run();
  ASSERT_FALSE(ended);
  EXPECT_NE(ended.error().message().find("CUDA_ERROR_UNKNOWN"), std::string::npos);
  EXPECT_FALSE(cuda_context_lost());
  EXPECT_TRUE(run());
}

// Products that are being measured use the matrices when measuring fails.
TEST_F(StandinFaults, MatricesStayUntilTheirProductsAreThrough) {
  standin_.set("keep=1,kernel_overhead=5000000,fail=cuEventSynchronize:2:999");
  EXPECT_FALSE(run(Staging::pinned, ConsumerKind::gemm));
  EXPECT_EQ(standin_.complaints(), "");
}

struct Refused {
  const char* setting;
  const char* words;
};

TEST_F(StandinFaults, WhatANodeCannotDoIsRefusedByName) {
  for (const Refused& r :
       {Refused{"driver=10020",
                "the driver is for CUDA 10.2, this program needs one for CUDA 11.0"},
        Refused{"devices=0", "the driver finds no GPU"},
        Refused{"capability=61", "Stand-in is of compute capability 6.1, this program needs 7.0"},
        Refused{"fail=cuInit:1:999", "unknown error (CUDA_ERROR_UNKNOWN)"}}) {
    standin_.set(r.setting);
    const Result<> refused = check_cuda(0);
    ASSERT_FALSE(refused) << r.setting;
    EXPECT_EQ(refused.error().exit_code, Exit::unsupported);
    EXPECT_NE(refused.error().message().find(r.words), std::string::npos) << why_not(refused);
    standin_.reset();
  }
  standin_.set("host_pointers=0");
  EXPECT_NE(why_not(run()).find("use --staging pageable or per-batch"), std::string::npos);
  EXPECT_TRUE(run(Staging::per_batch));
}

TEST_F(StandinFaults, DriversOfCuda11And12WillDo) {
  for (const char* const driver :
       {"driver=11000,batch=0", "driver=12000,batch=0,capability=70", "driver=12080"}) {
    standin_.set(driver);
    EXPECT_TRUE(run()) << driver;
  }
}

// --- in processes of their own, because there the GPU is lost for good

[[noreturn]] void end_with(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::_Exit(why.empty() ? 0 : 1);
}

class StandinLost : public StandinFaults, public ::testing::WithParamInterface<const char*> {
 protected:
  std::string lose() {
    standin_.set(GetParam());
    const Result<> first = run();
    if (first ||
        why_not(first).find("only a new process can use the GPU again") == std::string::npos ||
        !cuda_context_lost()) {
      return "it was not said that the context is lost: " + why_not(first);
    }
    const Result<> again = cuda_result(cuda_driver().context_wait(), "a wait");
    if (why_not(again).find("only a new process") != std::string::npos) {
      return "what is to do is said twice";
    }
    const Result<> refused = check_cuda(0);
    return why_not(refused).find("only a new process") == std::string::npos ? "not refused" : "";
  }
};

TEST_P(StandinLost, IsSaidOnceAndRefusedFromThenOn) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(end_with(lose()), ::testing::ExitedWithCode(0), "");
}

INSTANTIATE_TEST_SUITE_P(Ways, StandinLost,
                         ::testing::Values("fail=kernel:20:719", "fail=copy:2:700",
                                           "fail=cuEventRecord:40:999:sticky",
                                           "fail=cuStreamCreate:2:46:sticky"));

}  // namespace
}  // namespace blksweep
