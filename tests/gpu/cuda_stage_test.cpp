// The CUDA stages on a real GPU or the stand-in; with neither every test here is skipped.
#include "stage/cuda/cuda_stage.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/rng.h"
#include "dataset/pack.h"
#include "loader/epoch.h"
#include "loader/verify.h"
#include "support/standin.h"
#include "support/temp_dir.h"

namespace blksweep {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t kArena = std::uint64_t{8} << 20;

class Gpu : public ::testing::Test {
 protected:
  void SetUp() override { SKIP_WITHOUT_GPU(); }
  // The stand-in complains of large copies from pageable memory where they are not meant.
  void means(Staging staging) const {
    if (standin_.there()) {
      standin_.set(staging == Staging::pageable ? "pageable=1" : "pageable=0");
    }
  }

  Standin standin_;
};

struct Variant {
  Staging staging;
  std::uint32_t streams, slots;
  bool one_call;
};

class GpuCopy : public Gpu, public ::testing::WithParamInterface<Variant> {
 protected:
  GpuCopy() : rng_(5) {
    auto arena = PageBuffer::allocate({kArena});
    EXPECT_TRUE(arena);
    arena_ = *std::move(arena);
    for (std::byte& b : arena_.span()) {
      b = static_cast<std::byte>(rng_.next() & 0xFF);
    }
  }
  CudaCopySettings settings() {
    means(GetParam().staging);
    CudaCopySettings s;
    s.staging = GetParam().staging;
    s.streams = GetParam().streams;
    s.slots = GetParam().slots;
    s.one_call = GetParam().one_call;
    s.batch_bytes = {kArena};
    s.batch_parts = 200;
    s.arena = arena_.span();
    return s;
  }
  // Anywhere in the arena, of odd sizes and places, some empty, some side by side, some the same.
  std::vector<BatchPart> random_parts() {
    std::vector<BatchPart> parts;
    for (std::size_t i = rng_.below(200); i > 0; --i) {
      const std::uint64_t at = rng_.below(kArena - 40'000);
      const bool follows = !parts.empty() && rng_.below(4) == 0;
      const std::byte* const from =
          follows ? parts.back().data + parts.back().bytes : arena_.data() + at;
      const std::uint64_t room = static_cast<std::uint64_t>(arena_.data() + kArena - from);
      parts.push_back({from, std::min(room, rng_.below(40'000))});
    }
    return parts;
  }

  Rng rng_;
  PageBuffer arena_;
};

TEST_P(GpuCopy, WhatArrivesIsWhatWasSent) {
  auto copy = make_cuda_copy(settings());
  ASSERT_TRUE(copy) << copy.error().message();
  CopyTimes before;
  for (std::uint32_t b = 0; b < 50; ++b) {
    const std::vector<BatchPart> parts = random_parts();
    ASSERT_TRUE((*copy)->begin(b, parts));
    const auto times = (*copy)->finish(b);
    ASSERT_TRUE(times) << times.error().message();
    EXPECT_LE(times->all.begin, times->transfer.begin);
    EXPECT_LE(times->transfer.begin, times->transfer.end);
    EXPECT_LE(before.transfer.end, times->all.begin);
    before = *times;
    ASSERT_TRUE((*copy)->release(b));
    std::vector<std::uint8_t> wrong(parts.size(), 0);
    ASSERT_TRUE((*copy)->check(b, parts, wrong));
    EXPECT_EQ(std::count(wrong.begin(), wrong.end(), 1), 0) << "batch " << b;
  }
  ASSERT_TRUE((*copy)->alignment());
  EXPECT_GT((*copy)->alignment()->error_ns, 0);
}

TEST_P(GpuCopy, ASingleChangedByteIsFound) {
  auto copy = make_cuda_copy(settings());
  ASSERT_TRUE(copy) << copy.error().message();
  std::vector<BatchPart> parts;
  for (std::size_t i = 0; i < 10; ++i) {
    parts.push_back({arena_.data() + i * 10'000, 9'999});
  }
  ASSERT_TRUE((*copy)->begin(0, parts));
  ASSERT_TRUE((*copy)->finish(0));
  arena_.data()[3 * 10'000 + 777] ^= std::byte{1};
  std::vector<std::uint8_t> wrong(parts.size(), 0);
  ASSERT_TRUE((*copy)->check(0, parts, wrong));
  EXPECT_EQ(wrong, (std::vector<std::uint8_t>{0, 0, 0, 1, 0, 0, 0, 0, 0, 0}));
}

TEST_P(GpuCopy, MayBeLeftInFlight) {
  auto copy = make_cuda_copy(settings());
  ASSERT_TRUE(copy) << copy.error().message();
  ASSERT_TRUE((*copy)->begin(0, random_parts()));
  copy->reset();  // waits, then gives the window back
}

TEST_P(GpuCopy, ABatchLargerThanASlotIsRefused) {
  CudaCopySettings s = settings();
  s.batch_bytes = {1000};
  auto copy = make_cuda_copy(s);
  ASSERT_TRUE(copy) << copy.error().message();
  const std::array<BatchPart, 1> parts{{{arena_.data(), 5000}}};
  EXPECT_FALSE((*copy)->begin(0, parts));
  EXPECT_FALSE((*copy)->finish(0));
}

INSTANTIATE_TEST_SUITE_P(Variants, GpuCopy,
                         ::testing::Values(Variant{Staging::pinned, 1, 2, true},
                                           Variant{Staging::pinned, 1, 1, false},
                                           Variant{Staging::pinned, 4, 3, true},
                                           Variant{Staging::pageable, 2, 2, true},
                                           Variant{Staging::register_each, 1, 2, true},
                                           Variant{Staging::per_batch, 1, 2, true}));

// Bytes are shared out to streams; how they were copied stands in the record.
TEST_P(GpuCopy, SaysHowItCopied) {
  auto copy = make_cuda_copy(settings());
  ASSERT_TRUE(copy) << copy.error().message();
  const std::array<BatchPart, 2> parts{
      {{arena_.data(), 3'000'000}, {arena_.data() + 4'000'000, 9}}};
  ASSERT_TRUE((*copy)->begin(0, parts));
  ASSERT_TRUE((*copy)->finish(0));
  EXPECT_NE((*copy)->means().find("cuMemcpy"), std::string::npos) << (*copy)->means();
  EXPECT_NE((*copy)->means().find(" stream"), std::string::npos) << (*copy)->means();
}

TEST_F(Gpu, WhatItCannotHoldIsAnErrorThatSaysWhatToDo) {
  CudaCopySettings s;
  s.batch_bytes = {std::uint64_t{4} << 40};
  const auto copy = make_cuda_copy(s);
  ASSERT_FALSE(copy);
  EXPECT_NE(copy.error().message().find("--batch"), std::string::npos) << copy.error().message();
  EXPECT_NE(copy.error().message().find("--device-slots"), std::string::npos);
  EXPECT_FALSE(cuda_context_lost());
  // The failure leaves nothing behind.
  s.batch_bytes = {1 << 20};
  EXPECT_TRUE(make_cuda_copy(s));
}

TEST_F(Gpu, AnIndexOutOfRangeIsUnsupported) {
  CudaCopySettings s;
  s.device = 1000;
  const auto copy = make_cuda_copy(s);
  ASSERT_FALSE(copy);
  EXPECT_EQ(copy.error().exit_code, Exit::unsupported);
  EXPECT_NE(copy.error().message().find("--device-index 1000"), std::string::npos);
}

TEST_F(Gpu, ConsumersAreBusyForAboutTheirTime) {
  for (const ConsumerKind kind :
       {ConsumerKind::cuda, ConsumerKind::cuda_memory, ConsumerKind::gemm}) {
    auto consumer = make_cuda_consumer({.device = 0, .kind = kind, .typical = milliseconds(5)});
    ASSERT_TRUE(consumer) << consumer.error().message();
    std::int64_t last = 0;
    for (std::uint32_t b = 0; b < 20; ++b) {
      ASSERT_TRUE((*consumer)->launch(b, milliseconds(5), {.at_ns = now_ns()}));
      const auto t = (*consumer)->finish(b);
      ASSERT_TRUE(t) << t.error().message();
      EXPECT_GE(t->host.begin, last);
      EXPECT_GE(t->host.length(), 4'500'000);
      EXPECT_GE(t->device.length(), 4'500'000);
      last = t->host.end;
    }
  }
}

TEST_F(Gpu, AnEpochThroughItDeliversTheFilesBytes) {
  const TempDir dir;
  Rng rng(3);
  for (int f = 0; f < 200; ++f) {
    std::string bytes(rng.below(50'000), '\0');
    for (char& c : bytes) {
      c = static_cast<char>(rng.next() & 0xFF);
    }
    dir.write("f" + std::to_string(f), bytes);
  }
  const auto source = open_source({dir.path(), ""});
  ASSERT_TRUE(source);
  LoaderSettings cell;
  cell.engine = EngineKind::psync;
  cell.direct = false;
  cell.batch = 16;
  cell.copy = CopyKind::cuda;
  cell.consumer = ConsumerKind::cuda;
  cell.compute.mean = milliseconds(1);
  for (const Staging staging :
       {Staging::pinned, Staging::pageable, Staging::register_each, Staging::per_batch}) {
    means(staging);
    cell.copy_tuning.staging = staging;
    const auto planned = plan_epoch(*source, cell, 7);
    ASSERT_TRUE(planned);
    auto epoch = Epoch::prepare(*source, cell, *planned, {.seed = 7, .verify = true});
    ASSERT_TRUE(epoch) << epoch.error().message();
    const std::atomic<bool> stop{false};
    const auto outcome = (*epoch)->run(stop);
    ASSERT_TRUE(outcome) << outcome.error().message();
    ASSERT_FALSE(outcome->fault) << outcome->fault->message();
    const Delivery& out = (*epoch)->delivery();
    EXPECT_EQ(check_hashes(source->catalog, planned->plan, {out.delivered(), out.hashes()}).wrong,
              0U);
    EXPECT_EQ(out.delivered().size(), 200U);
  }
}

// Decoded samples lie in a ring of their own, which is what the copies then read from.
TEST_F(Gpu, DecodedSamplesArriveToo) {
  const TempDir dir;
  Rng rng(4);
  for (int f = 0; f < 100; ++f) {
    dir.write("src/" + std::to_string(f), std::string(rng.below(60'000), static_cast<char>(f)));
  }
  PackSettings pack;
  pack.source = dir.path("src");
  pack.directory = dir.path("packed");
  pack.encode.codec = Codec::zstd;
  const std::atomic<bool> stop{false};
  ASSERT_TRUE(pack_dataset(pack, {}, stop));
  const auto source = open_source({pack.directory, ""});
  ASSERT_TRUE(source) << source.error().message();
  LoaderSettings cell;
  cell.engine = EngineKind::psync;
  cell.direct = false;
  cell.batch = 8;
  cell.decode_threads = 2;
  cell.copy = CopyKind::cuda;
  for (const Staging staging : {Staging::pinned, Staging::register_each}) {
    means(staging);
    cell.copy_tuning.staging = staging;
    const auto planned = plan_epoch(*source, cell, 7);
    ASSERT_TRUE(planned);
    auto epoch = Epoch::prepare(*source, cell, *planned, {.seed = 7, .verify = true});
    ASSERT_TRUE(epoch) << epoch.error().message();
    const auto outcome = (*epoch)->run(stop);
    ASSERT_TRUE(outcome) << outcome.error().message();
    ASSERT_FALSE(outcome->fault) << outcome->fault->message();
    const Delivery& out = (*epoch)->delivery();
    const Verification v = check_hashes(source->catalog, planned->plan,
                                        {out.delivered(), out.hashes(), Delivered::decoded});
    EXPECT_EQ(v.wrong, 0U);
    EXPECT_EQ(out.delivered().size(), 100U);
  }
}

}  // namespace
}  // namespace blksweep
