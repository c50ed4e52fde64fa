// ReaderRig: a Reader over a FakeEngine with everything around it, checking every batch as it
// comes.
//
// The files exist (empty) below a temporary folder, so that opening is real; their bytes come from
// the FakeEngine. Each batch is compared with the catalog and consumed as soon as it is ready.
// A watchdog stops a run that hangs; then finished is false.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "loader/exchanges.h"
#include "loader/reader.h"
#include "support/fake_engine.h"
#include "support/temp_dir.h"

namespace blksweep::support {

struct ReaderRigSettings {
  SyntheticSettings data;
  Order order = Order::random;
  MergeSettings merge;
  ShuffleSettings shuffle;
  std::uint32_t epochs = 1;
  unsigned depth = 8;
  unsigned refill = 4;
  FileSlotsSettings slots{.slots = 8, .direct = false, .openers = 0};
  std::uint64_t seed = 1;
};

class ReaderRig {
 public:
  explicit ReaderRig(const ReaderRigSettings& s)
      : data(s.data),
        settings(s),
        catalog(data.view()),
        root(dir.path()),
        engine(data, s.slots.slots, s.seed) {
    catalog.root = root;
    engine.align = s.merge.align;
    for (std::uint32_t f = 0; f < catalog.files.size(); ++f) {
      dir.write(catalog.path(f), "");
    }
    plan = make_plan(catalog, make_order(catalog, {.order = s.order, .epochs = s.epochs}), s.epochs,
                     s.merge);
    auto made = make_schedule(catalog, plan, s.shuffle);
    EXPECT_TRUE(made) << made.error().message();
    schedule = *std::move(made);
  }

  // False: the watchdog had to end it.
  bool run() {
    connect();
    std::thread watchdog([this] {
      std::unique_lock lock(mutex_);
      if (!ended_.wait_for(lock, std::chrono::seconds(30), [this] { return done_; })) {
        hung_ = true;
        stop.store(true);
        handoff.request_stop();
      }
    });
    result = reader->run(stop);
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    ended_.notify_all();
    watchdog.join();
    return !hung_;
  }

  std::set<std::uint32_t> lost() const {
    std::set<std::uint32_t> out;
    for (const ReadFailure& f : reader->readiness().failures()) {
      out.insert(f.position);
    }
    return out;
  }
  std::size_t delivered() const { return delivered_; }
  const std::string& wrong_bytes() const { return wrong_; }

  SyntheticCatalog data;
  ReaderRigSettings settings;
  TempDir dir;
  Catalog catalog;
  std::string root;
  Plan plan;
  Schedule schedule;
  PageBuffer arena;
  Handoff handoff;
  FakeEngine engine;
  std::unique_ptr<FileSlots> files;
  std::unique_ptr<Scatter> scatter;
  std::unique_ptr<Reader> reader;
  std::atomic<bool> stop{false};
  Result<> result;

 private:
  void connect() {
    const Bytes staging = staging_area(plan, schedule, settings.depth);
    auto memory = PageBuffer::allocate({schedule.arena.n + staging.n});
    ASSERT_TRUE(memory);
    arena = *std::move(memory);
    auto made = Scatter::make(plan, schedule, arena.span(), {settings.depth, staging});
    ASSERT_TRUE(made);
    scatter = std::make_unique<Scatter>(*std::move(made));
    exchanges_.emplace(plan, schedule, arena.span());
    auto opened = FileSlots::open(catalog, plan, settings.slots);
    ASSERT_TRUE(opened) << opened.error().message();
    files = *std::move(opened);
    dir.write("the device", "");
    ASSERT_TRUE(engine.set_files(0, {device_fd(), 1}));
    files->start();
    reader = std::make_unique<Reader>(ReaderInputs{.catalog = catalog,
                                                   .plan = plan,
                                                   .schedule = schedule,
                                                   .engine = engine,
                                                   .files = *files,
                                                   .scatter = *scatter,
                                                   .handoff = handoff,
                                                   .depth = settings.depth,
                                                   .refill = settings.refill,
                                                   .align = settings.merge.align,
                                                   .on_ready = [this] { consume(); }});
  }
  Fd* device_fd() {
    device_ = Fd(::open((root + "/the device").c_str(), O_RDONLY | O_CLOEXEC));
    return &device_;
  }

  void consume() {
    while (consumed_ < handoff.ready.value()) {
      exchanges_->make(consumed_);
      for (std::uint32_t i = schedule.batch_begin[consumed_];
           i < schedule.batch_begin[consumed_ + 1]; ++i) {
        check(i);
      }
      handoff.consumed.publish(++consumed_);
    }
  }
  void check(std::uint32_t emission_index) {
    const std::uint32_t p = schedule.emission[emission_index];
    if (reader->readiness().failed()[p] != 0) {
      return;
    }
    ++delivered_;
    const Sample s = catalog.sample(plan.order[p]);
    const std::byte* at = arena.data() + schedule.place_of(plan, emission_index);
    std::vector<std::uint64_t> words(s.length);
    data.file_words(s.file, s.offset, words);
    const std::uint64_t* word = words.data();
    for (std::uint64_t i = 0; i < s.length && wrong_.empty(); ++i, ++word) {
      if (at[i] != (*word == 0 ? std::byte{0} : FakeEngine::byte_of(*word))) {
        wrong_ = "position " + std::to_string(p) + " byte " + std::to_string(i);
      }
    }
  }

  Fd device_;
  std::optional<Exchanges> exchanges_;
  std::uint32_t consumed_ = 0;
  std::size_t delivered_ = 0;
  std::string wrong_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool done_ = false, hung_ = false;
};

}  // namespace blksweep::support
