// Every engine gives the bytes that are there, ends where a file ends, and says what failed; then
// what each of them says of itself.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>

#include "base/memory.h"
#include "base/rng.h"
#include "io/engine.h"
#include "io/engine_trial.h"
#include "io/hint_engine.h"
#include "support/engines.h"
#include "support/map_advice.h"
#include "support/sanitizers.h"
#include "support/temp_dir.h"

namespace blksweep {
namespace {

constexpr std::size_t kFileBytes = 300'000;
constexpr unsigned kDepth = 8;
constexpr std::uint32_t kSlots = 4;

std::string random_text(std::size_t bytes, std::uint64_t seed) {
  Rng rng(seed);
  std::string text(bytes, '\0');
  std::ranges::generate(text, [&] { return static_cast<char>(rng.next() & 0xFF); });
  return text;
}

class OneFile {
 public:
  OneFile() : text_(random_text(kFileBytes, 5)) { dir_.write("f", text_); }
  Fd open() const { return Fd(::open(path().c_str(), O_RDONLY | O_CLOEXEC)); }
  std::string path() const { return dir_.path("f"); }
  const std::string& text() const { return text_; }

 private:
  TempDir dir_;
  std::string text_;
};

// An engine with the file in slots 0 and 1, and what its reads gave.
class Reads {
 public:
  Reads(EngineKind kind, const OneFile& file, EngineSettings settings = {})
      : memory_(*PageBuffer::allocate(Bytes{kDepth * kFileBytes})) {
    settings.depth = kDepth;
    settings.file_slots = kSlots;
    settings.arena = memory_.span();
    auto made = make_engine(kind, settings);
    EXPECT_TRUE(made) << made.error().message();
    engine_ = *std::move(made);
    std::array<Fd, 2> fds{file.open(), file.open()};
    EXPECT_TRUE(engine_->set_files(0, fds));
  }

  struct Range {
    std::uint64_t offset;
    std::size_t bytes;
    std::uint32_t slot = 0;
  };
  // Each into memory of its own, in two pieces; what was asked again (EAGAIN) is asked again.
  std::vector<std::int32_t> read(const std::vector<Range>& ranges) {
    std::vector<iovec> iov;
    std::vector<ReadRequest> requests;
    iov.reserve(ranges.size() * 2);
    for (std::uint32_t i = 0; i < ranges.size(); ++i) {
      const std::size_t half = ranges[i].bytes / 2;
      iov.push_back({place(i), half});
      iov.push_back({place(i) + half, ranges[i].bytes - half});
      requests.push_back({ranges[i].offset, &iov[i * 2], 2, ranges[i].slot, i});
    }
    std::vector<std::int32_t> results(ranges.size(), -EAGAIN);
    while (std::ranges::count(results, -EAGAIN) > 0) {
      std::vector<ReadRequest> again;
      std::ranges::copy_if(requests, std::back_inserter(again),
                           [&](const ReadRequest& r) { return results[r.tag] == -EAGAIN; });
      EXPECT_TRUE(engine_->submit(again));
      reap(again.size(), results);
    }
    return results;
  }
  std::string got(std::uint32_t i, std::size_t bytes) {
    return {reinterpret_cast<const char*>(place(i)), bytes};
  }
  Engine& engine() { return *engine_; }
  EngineFacts facts() const { return engine_->facts(); }

 private:
  std::byte* place(std::uint32_t i) { return memory_.data() + i * kFileBytes; }
  void reap(std::size_t reads, std::vector<std::int32_t>& results) {
    std::array<Completion, kDepth> done{};
    for (std::size_t n = 0; n < reads;) {
      const auto got = engine_->reap(done, 1, kForever);
      ASSERT_TRUE(got) << got.error().message();
      for (std::size_t i = 0; i < *got; ++i) {
        results[done[i].tag] = done[i].result;
      }
      n += *got;
    }
  }

  PageBuffer memory_;
  std::unique_ptr<Engine> engine_;
};

class EveryEngine : public testing::TestWithParam<EngineKind> {
 protected:
  void SetUp() override {
    if (const std::string why = engine_refusal(GetParam(), kDepth); !why.empty()) {
      GTEST_SKIP() << why;
    }
  }
  OneFile file_;
};

TEST_P(EveryEngine, GivesTheBytesOfTheFile) {
  Reads reads(GetParam(), file_);
  const std::vector<Reads::Range> ranges{
      {0, 1}, {4095, 4098, 1}, {100'000, 4096}, {0, kFileBytes, 1}};
  const auto results = reads.read(ranges);
  for (std::uint32_t i = 0; i < ranges.size(); ++i) {
    ASSERT_EQ(results[i], static_cast<std::int32_t>(ranges[i].bytes));
    EXPECT_EQ(reads.got(i, ranges[i].bytes),
              file_.text().substr(ranges[i].offset, ranges[i].bytes));
  }
}

// What reads within its call has one in flight, whatever depth it was asked for.
TEST_P(EveryEngine, SaysHowManyItKeepsInFlight) {
  const EngineKind kind = GetParam();
  const bool one =
      kind == EngineKind::psync || kind == EngineKind::mmap || kind == EngineKind::hint;
  Reads reads(kind, file_);
  const unsigned depth = reads.engine().facts().depth;
  if (kind == EngineKind::nowait) {  // as many as it has threads
    EXPECT_TRUE(depth >= 1 && depth <= kDepth) << depth;
  } else {
    EXPECT_EQ(depth, one ? 1U : kDepth);
  }
}

TEST_P(EveryEngine, EndsWhereTheFileEnds) {
  Reads reads(GetParam(), file_);
  EXPECT_EQ(reads.read({{kFileBytes - 100, 4096}, {kFileBytes, 10}, {kFileBytes + 9000, 10}}),
            (std::vector<std::int32_t>{100, 0, 0}));
  EXPECT_EQ(reads.got(0, 100), file_.text().substr(kFileBytes - 100));
}

TEST_P(EveryEngine, AReadWithoutAFileFailsAndTheOthersDoNot) {
  Reads reads(GetParam(), file_);
  const auto results = reads.read({{0, 100}, {0, 100, 3}, {0, 100, 1}});
  EXPECT_EQ(results[0], 100);
  EXPECT_LE(results[1], 0);
  EXPECT_EQ(results[2], 100);
}

// Whoever reads gets the file that the slot had when the read was submitted, or waits for it.
TEST_P(EveryEngine, ASlotMayBeFilledAgainWhileItsReadsAreInFlight) {
  const TempDir dir;
  Reads reads(GetParam(), file_);
  for (int round = 0; round < 50; ++round) {
    const std::string text = random_text(5000, 100 + static_cast<std::uint64_t>(round));
    dir.write("g", text);
    Fd fd(::open(dir.path("g").c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_TRUE(reads.engine().set_files(1, {&fd, 1}));
    ASSERT_EQ(reads.read({{0, 5000, 1}, {7, 100, 0}}), (std::vector<std::int32_t>{5000, 100}));
    EXPECT_EQ(reads.got(0, 5000), text);
    EXPECT_EQ(reads.got(1, 100), file_.text().substr(7, 100));
    std::filesystem::remove(dir.path("g"));
  }
}

// A file that was cut off behind our back ends there: by whole pages, and within its last one.
TEST_P(EveryEngine, AFileThatWasCutOffMeanwhileEndsThere) {
  Reads reads(GetParam(), file_);
  ASSERT_EQ(reads.read({{0, kFileBytes}}).front(), static_cast<std::int32_t>(kFileBytes));
  ASSERT_EQ(::truncate(file_.path().c_str(), 10'000), 0);
  EXPECT_EQ(reads.read({{0, kFileBytes}, {9'990, 100}, {200'000, 100}, {8192, 4096}}),
            (std::vector<std::int32_t>{10'000, 10, 0, 1808}));
  EXPECT_EQ(reads.got(0, 10'000), file_.text().substr(0, 10'000));
}

// A queue that is left could fill memory that is somebody else's by then.
TEST_P(EveryEngine, LeavesNoQueueAndNoDescriptor) {
  const auto held = [] {
    std::ifstream maps("/proc/self/maps");
    const std::string text(std::istreambuf_iterator<char>(maps), {});
    std::size_t queues = 0;
    for (std::size_t at = 0; (at = text.find("[aio]", at)) != std::string::npos; ++at) {
      ++queues;
    }
    const std::filesystem::directory_iterator open("/proc/self/fd");
    return std::pair(queues, std::distance(begin(open), end(open)));
  };
  const auto before = held();
  EXPECT_EQ(Reads(GetParam(), file_).read({{0, 10}}), std::vector<std::int32_t>{10});
  EXPECT_EQ(held(), before);
}

TEST_P(EveryEngine, CallsNothingRefusedThatWasGiven) {
  const Reads reads(GetParam(), file_);
  EXPECT_EQ(reads.facts().refused.find("Success"), std::string::npos) << reads.facts().refused;
}

INSTANTIATE_TEST_SUITE_P(Engines, EveryEngine, testing::ValuesIn(support::buffered_engines()),
                         support::engine_name);

TEST(Engines, EachHasAWordOfItsOwn) {
  std::map<std::string_view, int> words;
  for (const EngineKind kind : kEngines) {
    ++words[to_string(kind)];
    EXPECT_TRUE(traits_of(kind).direct || traits_of(kind).buffered) << to_string(kind);
  }
  EXPECT_EQ(words.size(), kEngines.size());
}

TEST(LibaioEngine, SaysHowLongSubmittingTook) {
  const OneFile file;
  Reads reads(EngineKind::libaio, file);
  reads.read({{0, kFileBytes}});
  const EngineCounts counts = reads.engine().own_counts();
  EXPECT_GT(counts.submit_ns.value_or(0), 0);
  EXPECT_GE(counts.submit_blocked_ns.value_or(-1), 0);
  EXPECT_LE(*counts.submit_blocked_ns, *counts.submit_ns);
}

// What binds threads to CPUs is told of each, in it.
TEST(NowaitEngine, EachThreadSaysThatItBegins) {
  const OneFile file;
  std::mutex mutex;
  std::set<std::thread::id> begun;
  {
    Reads reads(EngineKind::nowait, file, {.arena = {}, .on_thread = [&] {
                                             const std::lock_guard lock(mutex);
                                             begun.insert(std::this_thread::get_id());
                                           }});
    EXPECT_EQ(reads.engine().facts().depth, kDepth);
  }
  EXPECT_EQ(begun.size(), kDepth);
  EXPECT_FALSE(begun.contains(std::this_thread::get_id()));
}

TEST(LibaioEngine, MoreThanTheKernelAllowsIsRefusedWithTheWayOut) {
  const auto refused = make_engine(EngineKind::libaio, {.depth = 100'000'000, .arena = {}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().exit_code, Exit::unsupported);
  EXPECT_NE(refused.error().message().find("--engine io_uring"), std::string::npos)
      << refused.error().message();
}

// Read ahead by one fault are 16 pages at least, and so a fault a page at most.
TEST(MmapEngine, CountsItsFaults) {
  const OneFile file;
  Reads reads(EngineKind::mmap, file, {.arena = {}, .advice = MapAdvice::random});
  reads.read({{0, kFileBytes}});
  const EngineCounts counts = reads.engine().own_counts();
  EXPECT_GT(counts.minor_faults.value_or(0) + counts.major_faults.value_or(0), 0U);
  if (!support::sanitized()) {  // their memory faults, too
    EXPECT_LE(counts.minor_faults.value_or(0) + counts.major_faults.value_or(0),
              kFileBytes / kPageBytes + 1);
  }
}

TEST(MmapEngine, TakesEachAdvice) {
  const OneFile file;
  for (const MapAdvice advice :
       {MapAdvice::normal, MapAdvice::random, MapAdvice::sequential, MapAdvice::willneed}) {
    Reads reads(EngineKind::mmap, file, {.arena = {}, .advice = advice});
    EXPECT_EQ(reads.read({{0, kFileBytes}}).front(), static_cast<std::int32_t>(kFileBytes));
    EXPECT_EQ(reads.engine().facts().features, "madvise " + std::string(to_string(advice)));
    EXPECT_EQ(reads.engine().facts().refused, "");
    EXPECT_EQ(support::map_advice(file.path()),
              advice == MapAdvice::willneed ? "normal" : to_string(advice));
  }
}

volatile std::sig_atomic_t bus_errors = 0;

// Whoever had a handler of SIGBUS has it again, and hears meanwhile what is not of our copies.
TEST(MmapEngine, SigbusOfOthersGoesToTheirHandler) {
  struct sigaction theirs {};
  struct sigaction before {};
  theirs.sa_handler = [](int) { bus_errors = bus_errors + 1; };
  ASSERT_EQ(::sigaction(SIGBUS, &theirs, &before), 0);
  {
    const OneFile file;
    Reads reads(EngineKind::mmap, file);
    Reads beside(EngineKind::mmap, file);
    ASSERT_EQ(::truncate(file.path().c_str(), 0), 0);
    EXPECT_EQ(reads.read({{0, 100}}).front(), 0);
    EXPECT_EQ(bus_errors, 0);
    if (!support::thread_sanitizer()) {  // which keeps raised signals for later
      ::raise(SIGBUS);
      EXPECT_EQ(bus_errors, 1);
    }
  }
  struct sigaction after {};
  ::sigaction(SIGBUS, &before, &after);
  EXPECT_EQ(after.sa_handler, theirs.sa_handler);
}

TEST(MmapEngine, AFileThatWasCutOffLeavesNoSignalBlocked) {
  const OneFile file;
  Reads reads(EngineKind::mmap, file);
  ASSERT_EQ(::truncate(file.path().c_str(), 0), 0);
  EXPECT_EQ(reads.read({{0, 100}}).front(), 0);
  sigset_t blocked;
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, nullptr, &blocked), 0);
  for (const int signal : {SIGBUS, SIGXFSZ, SIGTERM, SIGINT}) {
    EXPECT_EQ(sigismember(&blocked, signal), 0) << signal;
  }
}

TEST(NowaitEngine, CountsWhatThePageCacheHad) {
  const OneFile file;  // just written: all of it is there
  Reads reads(EngineKind::nowait, file);
  reads.read({{0, kFileBytes}, {5, 5}});
  reads.read({{kFileBytes - 1, 2}});  // ends short: the pool says so
  const bool refused = !reads.engine().facts().refused.empty();
  EXPECT_EQ(reads.engine().own_counts().answered_at_once, refused ? 0U : 2U);
}

TEST(NowaitEngine, WaitsForNoMoreThanThereIs) {
  const OneFile file;
  Reads reads(EngineKind::nowait, file);
  for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{kFileBytes}}) {
    std::byte place{};
    iovec one{&place, 1};
    const ReadRequest request{offset, &one, 1, 0, 7};
    ASSERT_TRUE(reads.engine().submit({&request, 1}));
    std::array<Completion, kDepth> done{};
    EXPECT_EQ(reads.engine().reap(done, kDepth, kForever).value_or(0), 1U);
    EXPECT_EQ(done[0].tag, 7U);
  }
}

// Reads of the file front to back, on a device that has it back to front.
class Backwards final : public UpcomingReads {
 public:
  static constexpr std::uint32_t kPart = 10'000;
  explicit Backwards(const OneFile& file) : file_(file) {}
  std::size_t size() const override { return kFileBytes / kPart; }
  Read at(std::size_t i) const override {
    return {kFileBytes - i * kPart, i * kPart, kPart, i == 3 ? 1U : 0U};
  }
  Fd open(std::uint32_t file) override { return file == 0 ? file_.open() : Fd(); }

 private:
  const OneFile& file_;
};

// Told of is at most a window more than what was read, and in the end everything that can be
// opened.
TEST(HintEngine, TellsAWindowAheadAndNoMore) {
  const OneFile file;
  for (const HintCall call : {HintCall::fadvise, HintCall::readahead}) {
    for (const std::uint64_t window : {1'000U, 40'000U, 1'000'000U}) {
      Backwards upcoming(file);
      Reads reads(EngineKind::hint, file,
                  {.arena = {}, .hint = call, .hint_window = window, .upcoming = &upcoming});
      const std::uint64_t longest = std::max<std::uint64_t>(window, 2 * Backwards::kPart);
      for (std::size_t i = 0; i < upcoming.size(); ++i) {
        ASSERT_EQ(reads.read({{i * Backwards::kPart, Backwards::kPart}}).front(), 10'000);
        EXPECT_LE(reads.engine().own_counts().hinted_bytes.value_or(~0ULL),
                  (i + 1) * Backwards::kPart + longest);
      }
      const std::uint64_t all = kFileBytes - Backwards::kPart;
      for (int tries = 0; tries < 2000 && reads.engine().own_counts().hinted_bytes != all;
           ++tries) {
        ::usleep(1000);
      }
      EXPECT_EQ(reads.engine().own_counts().hinted_bytes, all);
    }
  }
}

TEST(HintEngine, EndsWhileItStillTells) {
  const OneFile file;
  Backwards upcoming(file);
  Reads reads(EngineKind::hint, file, {.arena = {}, .hint_window = 1'000, .upcoming = &upcoming});
  EXPECT_EQ(reads.read({{0, 10}}).front(), 10);
}

}  // namespace
}  // namespace blksweep
