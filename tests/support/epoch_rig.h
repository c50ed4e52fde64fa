// EpochRig: files of random bytes, and one epoch of a cell over them, prepared and run.
//
// Threads: one owner.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/rng.h"
#include "loader/epoch.h"
#include "loader/loader.h"
#include "loader/verify.h"
#include "support/temp_dir.h"

namespace blksweep {

class EpochRig {
 protected:
  static std::string random_bytes(std::uint64_t size, Rng& rng) {
    std::string bytes(size, '\0');
    for (char& c : bytes) {
      c = static_cast<char>(rng.next() & 0xFF);
    }
    return bytes;
  }
  void write_random(const std::string& name, std::uint64_t size, Rng& rng) const {
    dir_.write(name, random_bytes(size, rng));
  }
  void reopen() { reopen(dir_.path()); }
  void reopen(const std::string& folder) {
    auto opened = open_source({folder, ""});
    ASSERT_TRUE(opened) << opened.error().message();
    source_ = *std::move(opened);
  }
  void prepare(const EpochOptions& options) {
    epoch_.reset();
    auto planned = plan_epoch(source_, cell_, options.seed);
    ASSERT_TRUE(planned) << planned.error().message();
    planned_ = *std::move(planned);
    auto epoch = Epoch::prepare(source_, cell_, planned_, options);
    ASSERT_TRUE(epoch) << epoch.error().message();
    epoch_ = *std::move(epoch);
  }
  EpochOutcome run_prepared() {
    const auto outcome = epoch_->run(stop_);
    EXPECT_TRUE(outcome) << outcome.error().message();
    return outcome ? *outcome : EpochOutcome{};
  }
  const BatchTimes& times(std::size_t b) const { return epoch_->times()[b]; }

  // Each sample in the planned order, with the bytes of its file.
  void expect_complete() const {
    EXPECT_EQ(epoch_->delivery().delivered(), planned_.schedule.emission);
    const Verification v =
        check_hashes(source_.catalog, planned_.plan,
                     {epoch_->delivery().delivered(), epoch_->delivery().hashes()});
    EXPECT_EQ(v.wrong, 0U) << (v.named.empty() ? "" : v.named.front().why);
  }

  TempDir dir_;
  Source source_;
  LoaderSettings cell_;
  PlannedEpoch planned_;
  std::atomic<bool> stop_{false};
  std::unique_ptr<Epoch> epoch_;
};

}  // namespace blksweep
