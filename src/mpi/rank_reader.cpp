#include "mpi/rank_reader.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <xxhash.h>

#include <array>
#include <thread>

#include "base/clock.h"
#include "os/block/own_reads.h"
#include "os/noise.h"
#include "os/process/standstill.h"

namespace blksweep {

std::int64_t RankClock::now() const { return now_ns() + offset - start; }

RankReader::RankReader(const Comm& comm, const MpiOptions& options, const Source& source,
                       Loader& loader, Board& board, RankRow& row)
    : comm_(comm),
      options_(options),
      loader_(loader),
      board_(board),
      row_(row),
      conditions_(source, row.on_node == 0) {
  const std::size_t all = std::size_t{loader.delivers()} * options.loader.epochs;
  delivered_.reserve(all);
  hashes_.reserve(options.verify ? all : 0);
}

void RankReader::wait_for_start() {
  const std::int64_t at = clock_.start - clock_.offset;
  const timespec until{at / 1'000'000'000, at % 1'000'000'000};
  while (now_ns() < at) {
    ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
  }
}

void RankReader::take(const LoadedBatch& batch) {
  for (const LoadedSample& s : batch.samples) {
    delivered_.push_back(std::uint64_t{s.place} << 32 | s.index);
    row_.bytes += s.bytes;
    if (options_.verify) {
      const std::array<std::uint64_t, 2> one{s.index, XXH3_64bits(s.data, s.bytes)};
      hashes_.push_back(one[1]);
      row_.content += XXH3_64bits(one.data(), sizeof one);
    }
  }
  row_.samples += batch.samples.size();
  ++row_.batches;
}

bool RankReader::take_batch() {
  const std::int64_t asked = now_ns();
  const auto batch = loader_.next();
  row_.waited_ns += now_ns() - asked;
  if (!batch) {
    return false;
  }
  row_.last_ns = clock_.now();
  row_.first_ns = row_.batches == 0 ? row_.last_ns : row_.first_ns;
  take(*batch);
  board_.publish(row_);
  if (options_.compute.count() > 0) {
    std::this_thread::sleep_for(options_.compute);
    row_.last_ns = clock_.now();  // as a step of training counts, which does not end with its data
    board_.publish(row_);
  }
  loader_.release();
  return true;
}

void RankReader::look_for_quota(const std::optional<std::int64_t>& before) {
  if (const auto after = noise_counters().throttled_ns; before && after) {
    quota_ = quota_warning(*after - *before, clock_.now() - row_.begin_ns);
  }
}

void RankReader::run(const RankClock& clock) {
  clock_ = clock;
  const std::uint32_t epochs = options_.loader.epochs;
  const std::uint32_t mine = loader_.batches() / epochs;
  const std::uint32_t turns = comm_.most(mine);
  wait_for_start();
  const std::optional<std::int64_t> throttled = noise_counters().throttled_ns;
  const Standstill standstill;
  row_.state = RankState::reading;
  row_.begin_ns = clock_.now();
  board_.publish(row_);
  ::prctl(PR_SET_NAME, fmt::format("rank {} reads", row_.rank).c_str());  // for ps and top
  conditions_.begin();
  const std::optional<std::uint64_t> before = own_read_bytes();
  loader_.begin();
  bool going = true;
  for (std::uint32_t turn = 0; turn < epochs * turns; ++turn) {
    going = going && (turn % turns >= mine || take_batch());
    const bool epoch_ends = turn % turns == turns - 1;
    if (options_.barrier == RankBarrier::batch ||
        (options_.barrier == RankBarrier::epoch && epoch_ends)) {
      ++row_.arrivals;
      board_.publish(row_);
      row_.barrier_ns += comm_.wait_for_all();
    }
  }
  std::string disturbed = standstill.seen();
  if (disturbed.empty()) {
    disturbed = conditions_.changed();
  }
  look_for_quota(throttled);
  if (const auto after = own_read_bytes(); before && after) {
    row_.storage_bytes = *after - *before;
    row_.storage_known = 1;
  }
  disk_use_ = conditions_.disk_use();
  while (going && loader_.next()) {  // the end, which proves what came
    loader_.release();
  }
  error_ = loader_.error().empty() ? disturbed : loader_.error();
}

}  // namespace blksweep
