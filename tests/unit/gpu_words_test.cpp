// What needs no GPU of the GPU's side: refusals, errors, sharing out of copies, plans of products.
#include "stage/cuda/gpu_words.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/rng.h"
#include "stage/cuda/gemm_plan.h"
#include "stage/cuda/nvml.h"
#include "stage/cuda/pieces.h"

namespace blksweep {
namespace {

constexpr int kDriver = 13000;

TEST(GpuRefusal, NoDriver) {
  EXPECT_EQ(gpu_refusal({}), "no NVIDIA driver (libcuda.so.1) on this node");
}

TEST(GpuText, ACudaVersionThatIsNotKnownHasNoNumber) {
  EXPECT_EQ(cuda_version_words(12040), "12.4");
  EXPECT_EQ(cuda_version_words(11080), "11.8");
  EXPECT_EQ(cuda_version_words(0), "");
}

TEST(GpuText, AnInstanceOfMigHasItsOwnUuid) {
  EXPECT_EQ(gpu_uuid("1-2", "GPU-1-2"), "GPU-1-2");
  EXPECT_EQ(gpu_uuid("1-3", "GPU-1-2"), "MIG-1-3");
  EXPECT_EQ(gpu_uuid("", "GPU-1-2"), "GPU-1-2") << "a driver that does not tell";
  EXPECT_EQ(gpu_uuid("1-3", ""), "1-3") << "no NVML: which of the two is not known";
  EXPECT_EQ(gpu_uuid("", ""), "");
}

TEST(GpuRefusal, ADriverIsTooOldBeforeCuda11Only) {
  EXPECT_EQ(gpu_refusal({10020, 1, 0, ""}),
            "the driver is for CUDA 10.2, this program needs one for CUDA 11.0 or later");
  for (const int driver : {11000, 11080, 12000, 12040, 13000, 14020}) {
    EXPECT_EQ(gpu_refusal({driver, 1, 0, ""}), "") << driver;
  }
}

TEST(GpuRefusal, NoGpu) {
  const std::string words = gpu_refusal({kDriver, 0, 100, "no CUDA-capable device"});
  EXPECT_NE(words.find("the driver finds no GPU"), std::string::npos) << words;
  EXPECT_EQ(gpu_refusal({kDriver, 0, 0, ""}), words);
}

TEST(GpuRefusal, WhatIsNotForeseenComesInCudasWords) {
  EXPECT_EQ(gpu_refusal({kDriver, 0, 802, "system not yet initialized"}),
            "system not yet initialized");
  EXPECT_EQ(gpu_refusal({kDriver, 0, 0, "libcuda.so.1 lacks cuInit"}), "libcuda.so.1 lacks cuInit");
}

TEST(GpuRefusal, AGpuBeforeVoltaIsNamed) {
  EXPECT_EQ(gpu_capability_refusal(1, "Tesla P100", 60),
            "--device-index 1: Tesla P100 is of compute capability 6.0, this program needs 7.0 "
            "(Volta) or later");
  for (const int capability : {70, 75, 80, 90, 100, 121}) {
    EXPECT_EQ(gpu_capability_refusal(0, "any", capability), "") << capability;
  }
}

TEST(GpuRefusal, AnIndexOutOfRangeSaysHowManyThereAre) {
  const GpuNode one{kDriver, 1, 0, ""};
  EXPECT_EQ(gpu_index_refusal(one, 0), "");
  EXPECT_EQ(gpu_index_refusal(one, 1), "--device-index 1: this node has 1 GPU, the first is 0");
  const GpuNode eight{kDriver, 8, 0, ""};
  EXPECT_EQ(gpu_index_refusal(eight, 7), "");
  EXPECT_EQ(gpu_index_refusal(eight, 4'294'967'295),
            "--device-index 4294967295: this node has 8 GPUs, the first is 0");
}

TEST(GpuErrors, StickyAreThoseAfterWhichTheProcessMustBeStartedAgain) {
  for (const int sticky : {214, 226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721, 911}) {
    EXPECT_EQ(gpu_error(sticky), GpuError::sticky) << sticky;
  }
}

TEST(GpuErrors, ARefusedCallPassesAndAnErrorThatIsNotKnownIsAskedAfter) {
  // Invalid value, no memory, no such device, not ready, out of resources, registered already, not
  // supported.
  for (const int passing : {1, 2, 101, 600, 701, 712, 801}) {
    EXPECT_EQ(gpu_error(passing), GpuError::passing) << passing;
  }
  // Device unavailable, not licensed, system not ready, timeout, unknown; one of a later driver.
  for (const int unknown : {46, 102, 802, 909, 999, 5000}) {
    EXPECT_EQ(gpu_error(unknown), GpuError::unknown) << unknown;
  }
}

TEST(GpuErrors, NoMemoryNamesWhatForHowMuchIsThereAndTheWayOut) {
  EXPECT_EQ(gpu_memory_refusal({std::uint64_t{4} << 30, std::uint64_t{1} << 30,
                                std::uint64_t{8} << 30, "2 slots", "use a smaller --batch"}),
            "the GPU has no 4 GiB left for 2 slots (1 GiB of 8 GiB are free): use a smaller "
            "--batch");
  EXPECT_EQ(gpu_memory_refusal({1 << 20, 0, 0, "hashes", "leave --verify out"}),
            "the GPU has no 1 MiB left for hashes: leave --verify out");
}

TEST(GpuText, CountsEqualOnesAndNamesTheDriver) {
  const GpuIdentity big{"NVIDIA H100", {std::uint64_t{80} << 30}};
  EXPECT_EQ(gpu_text({}, "580.65"), "");
  EXPECT_EQ(gpu_text({big}, "580.65"), "NVIDIA H100 (80 GiB); driver 580.65");
  EXPECT_EQ(gpu_text({big, {"Other", {0}}, big}, ""), "2 x NVIDIA H100 (80 GiB), Other");
}

TEST(Pieces, NeighboursInBothPlacesBecomeOne) {
  std::array<std::byte, 100> from{};
  std::array<std::byte, 100> to{};
  Pieces p;
  p.add(from.data(), to.data(), 10);
  p.add(from.data() + 10, to.data() + 10, 5);
  p.add(from.data() + 15, to.data() + 20, 5);  // a gap where it goes to
  p.add(from.data() + 30, to.data() + 25, 0);
  EXPECT_EQ(p.bytes, (std::vector<std::size_t>{15, 5}));
}

Pieces random_pieces(Rng& rng, std::byte* from, std::byte* to, std::size_t largest) {
  Pieces p;
  std::size_t at = 0;
  for (std::size_t i = rng.below(60); i > 0; --i) {
    const std::size_t bytes = 1 + rng.below(largest);
    p.add(from + at + i, to + at, bytes);
    at += bytes;
  }
  return p;
}

// Of pieces first to last.
std::size_t bytes_of(const Pieces& p, std::size_t first, std::size_t last) {
  return std::accumulate(p.bytes.begin() + static_cast<std::ptrdiff_t>(first),
                         p.bytes.begin() + static_cast<std::ptrdiff_t>(last), std::size_t{0});
}

TEST(Pieces, LanesGetTheSameNumberOfBytesWhateverThePiecesAre) {
  // Addresses only: nothing is copied.
  std::array<std::byte, 1> here{};
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Rng rng(seed);
    Pieces p = random_pieces(rng, here.data(), here.data(), seed % 3 == 0 ? 5'000'000 : 50'000);
    const std::size_t all = bytes_of(p, 0, p.size());
    const std::size_t lanes = 1 + rng.below(6);
    std::vector<std::size_t> ends(seed % 9, 7);  // of the batch before
    share_out(p, lanes, ends);
    ASSERT_EQ(ends.size(), lanes);
    ASSERT_EQ(ends.back(), p.size());
    ASSERT_EQ(bytes_of(p, 0, p.size()), all);
    for (std::size_t lane = 0, first = 0; lane < lanes; first = ends[lane++]) {
      ASSERT_LE(first, ends[lane]);
      const auto share = static_cast<double>(bytes_of(p, first, ends[lane]));
      ASSERT_NEAR(share, static_cast<double>(all) / static_cast<double>(lanes),
                  2.0 * kShareGranule + 4096)
          << "seed " << seed << ", lane " << lane << " of " << lanes;
    }
  }
}

TEST(Pieces, SharingOutMovesTheSameBytesToTheSamePlaces) {
  std::vector<std::byte> from(std::size_t{4} << 20);
  std::vector<std::byte> expected(from.size());
  std::vector<std::byte> to(from.size());
  Rng rng(3);
  std::generate(from.begin(), from.end(),
                [&] { return static_cast<std::byte>(rng.next() & 0xFF); });
  Pieces p = random_pieces(rng, from.data(), expected.data(), 40'000);
  p.add(from.data(), expected.data() + (std::size_t{3} << 20), std::size_t{1} << 20);
  const auto copy_to = [&p](std::byte* base, const std::byte* origin) {
    for (std::size_t i = 0; i < p.size(); ++i) {
      std::copy_n(static_cast<const std::byte*>(p.from[i]), p.bytes[i],
                  base + (static_cast<std::byte*>(p.to[i]) - origin));
    }
  };
  copy_to(expected.data(), expected.data());
  std::vector<std::size_t> ends;
  const std::size_t before = p.size();
  share_out(p, 4, ends);
  EXPECT_GT(p.size(), before) << "one piece of 1 MiB is cut";
  copy_to(to.data(), expected.data());
  EXPECT_EQ(to, expected);
}

// As measured on no GPU in particular: n^3, and a floor where the GPU is not filled.
std::vector<GemmSize> some_sizes() {
  std::vector<GemmSize> sizes;
  for (unsigned n = 128; n <= 4096; n *= 2) {
    const double cubed = double{1} * n * n * n;
    sizes.push_back({n, 4'000 + cubed * 2e-4});
  }
  return sizes;
}

TEST(GemmPlan, IsWithinHalfOfTheShortestProduct) {
  const std::vector<GemmSize> sizes = some_sizes();
  Rng rng(11);
  for (int i = 0; i < 2000; ++i) {
    const auto asked = static_cast<double>(1'000'000 + rng.below(100'000'000));
    const auto plan = plan_gemm(sizes, asked);
    ASSERT_LE(std::abs(planned_ns(sizes, plan) - asked), sizes.front().ns / 2 + 1);
    ASSERT_LE(std::abs(planned_ns(sizes, plan) - asked), asked * 0.01);
  }
}

TEST(GemmPlan, IsMostlyOfTheLargestThatFits) {
  const std::vector<GemmSize> sizes = some_sizes();
  const auto plan = plan_gemm(sizes, sizes[3].ns * 1.5);
  ASSERT_FALSE(plan.empty());
  EXPECT_EQ(plan.front().n, sizes[3].n);
  EXPECT_EQ(plan.front().times, 1U);
  std::uint64_t launches = 0;
  for (const GemmCount& c : plan) {
    launches += c.times;
  }
  EXPECT_LE(launches, 40U);
}

TEST(GemmPlan, ATimeHasAProductAndNoTimeHasNone) {
  const std::vector<GemmSize> sizes{{128, 5'000}};
  EXPECT_TRUE(plan_gemm(sizes, 0).empty());
  ASSERT_EQ(plan_gemm(sizes, 1).size(), 1U);
  EXPECT_EQ(plan_gemm(sizes, 1)[0].times, 1U);
  EXPECT_EQ(plan_gemm(sizes, 1e6)[0].times, 200U);
}

// Where small products leave the GPU half idle a larger one may take no longer.
TEST(GemmPlan, SizesThatTakeNoLongerThanSmallerOnesDoNoHarm) {
  const std::vector<GemmSize> sizes{{128, 6'000}, {256, 5'000}, {512, 20'000}};
  for (double asked = 10'000; asked < 2e6; asked += 7'777) {
    EXPECT_LE(std::abs(planned_ns(sizes, plan_gemm(sizes, asked)) - asked), 2'501) << asked;
  }
}

TEST(GpuWords, WhatHoldsTheClocksDownIsSaidAndIdlenessIsNot) {
  EXPECT_EQ(throttle_words(0), "");
  EXPECT_EQ(throttle_words(0x1 | 0x2 | 0x100), "") << "idle, set by somebody, a display";
  EXPECT_EQ(throttle_words(0x4 | 0x1), "power cap");
  EXPECT_EQ(throttle_words(0x20 | 0x80), "heat, power brake");
}

}  // namespace
}  // namespace blksweep
