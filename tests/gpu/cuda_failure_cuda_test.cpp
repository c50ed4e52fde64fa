// What happens after a kernel has failed, in a process of its own: there the GPU is lost for good.
#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/memory.h"
#include "stage/cuda/cuda_stage.h"
#include "stage/cuda/device_cuda.h"
#include "stage/cuda/kernels_cuda.h"
#include "support/gpu.h"

namespace blksweep {
namespace {

[[noreturn]] void leave(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::_Exit(why.empty() ? 0 : 1);
}

bool has(const Error& error, const char* text) {
  return error.message().find(text) != std::string::npos;
}

// A kernel that writes where there is no memory, while a copy stage and a consumer are in use.
std::string fail_a_kernel() {
  auto arena = PageBuffer::allocate({1 << 20});
  CudaCopySettings s;
  s.batch_bytes = {1 << 20};
  s.batch_parts = 1;
  s.arena = arena->span();
  auto copy = make_cuda_copy(s);
  auto consumer = make_cuda_consumer({});
  if (!copy || !consumer || cuda_context_lost()) {
    return "the stages could not be made, or the context was lost before anything failed";
  }
  const auto stream = make_stream();
  // NOLINTNEXTLINE(performance-no-int-to-ptr): nobody's address
  void* const nowhere = reinterpret_cast<void*>(std::uintptr_t{16});
  const CUresult launched = launch_memory_pressure(nowhere, 1 << 20, 1'000'000, 1, stream->get());
  const Result<> failed = cuda_result(cuda_driver().stream_wait(stream->get()), "the kernel");
  if (launched != CUDA_SUCCESS || failed || !has(failed.error(), "context is lost")) {
    return "the kernel's error is not told as one that loses the context";
  }
  const std::array<BatchPart, 1> parts{{{arena->data(), 1 << 20}}};
  const Result<> begun = (*copy)->begin(0, parts);
  const auto finished = (*copy)->finish(0);
  const Result<> launched_on =
      (*consumer)->launch(0, std::chrono::milliseconds(1), {.at_ns = now_ns()});
  if ((begun && finished) || launched_on || !has(launched_on.error(), "context is lost")) {
    return "a stage went on, or did not say why it cannot";
  }
  const auto again = make_cuda_copy(s);
  if (!cuda_context_lost() || again || !has(again.error(), "only a new process")) {
    return "a new stage was made, or the error does not say that a new process is needed";
  }
  return "";  // and the destructors come to an end
}

TEST(GpuFailure, AFailedKernelIsToldApartInAProcessOfItsOwn) {
  SKIP_WITHOUT_GPU();
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a new process, not a fork: CUDA is in use here
  EXPECT_EXIT(leave(fail_a_kernel()), ::testing::ExitedWithCode(0), "");
}

// An error that is not sticky is that call's alone.
TEST(GpuFailure, ARefusedCallLeavesNoErrorBehind) {
  SKIP_WITHOUT_GPU();
  ASSERT_TRUE(open_device(0));
  EXPECT_FALSE(use_device(1000));
  EXPECT_FALSE(register_host(nullptr, 4096));
  EXPECT_TRUE(make_stream());
  EXPECT_FALSE(cuda_context_lost());
}

}  // namespace
}  // namespace blksweep
