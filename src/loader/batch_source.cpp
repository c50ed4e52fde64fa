#include "loader/batch_source.h"

#include <fcntl.h>

#include <algorithm>
#include <span>

#include "base/clock.h"

namespace blksweep {

BatchSource::BatchSource(const BatchSourceInputs& in, Engine& engine, unsigned depth)
    : in_(in), engine_(engine), flights_(depth), fds_(depth) {
  opened_.reserve(depth);
  path_.reserve(4096);
}

void BatchSource::begin(std::uint32_t begin, std::uint32_t end) {
  next_ = begin;
  end_ = end;
  decode_ = 0;
  failures_.clear();
}

Result<> BatchSource::give(std::size_t slot, std::size_t count) {
  const auto files = std::span(fds_).subspan(slot, count);
  BLKSWEEP_CHECK(engine_.set_files(static_cast<std::uint32_t>(slot), files));
  std::ranges::for_each(files, [](Fd& before) { before.reset(); });
  return {};
}

Result<> BatchSource::finish() {
  if (in_.scope == ReadScope::batch) {
    BLKSWEEP_CHECK(give(0, fds_.size()));  // none: what the slots held is closed
  }
  spin_cpu(in_.decode_cpu.count() * decode_);
  return closed_;
}

ReadSource::Next BatchSource::next(std::uint32_t tag, WantedRead& wanted) {
  if (next_ == end_ || in_.handoff.stopping()) {
    return Next::end;
  }
  flights_[tag] = {.read = next_++};
  const Read& r = read_of(tag);
  wanted = {r.offset, r.length};
  return Next::request;
}

int BatchSource::open(std::uint32_t tag) {
  const int fd = in_.data.open_same(read_of(tag).source, in_.direct ? O_DIRECT : 0, path_);
  if (fd >= 0) {
    fds_[tag].reset(fd);
    opened_.push_back(tag);
    flights_[tag].open = true;
  }
  return std::min(fd, 0);
}

ReadAim BatchSource::aim(std::uint32_t tag, std::uint32_t done) {
  Flight& f = flights_[tag];
  if (!f.open) {
    if (const int refused = open(tag); refused < 0) {
      return {refused};
    }
  }
  const Piece& piece = in_.plan.pieces[in_.plan.first_piece[f.read]];
  std::byte* const at = in_.arena.data() +
                        std::uint64_t{in_.schedule.slot[piece.parcel]} * kSlotUnit +
                        piece.parcel_offset;
  f.iov = {at + done, piece.length - done};
  return {static_cast<int>(tag), {&f.iov, 1}};
}

// In as few calls as there are runs of slots: a file that is being read keeps its own.
Result<> BatchSource::flush() {
  std::ranges::sort(opened_);
  for (std::size_t i = 0; i < opened_.size();) {
    const std::size_t first = i++;
    while (i < opened_.size() && opened_[i] == opened_[i - 1] + 1) {
      ++i;
    }
    BLKSWEEP_CHECK(give(opened_[first], i - first));
  }
  opened_.clear();
  return {};
}

bool BatchSource::ends_after(std::uint32_t tag, std::uint32_t done) const {
  const Read& r = read_of(tag);
  return r.offset + done >= in_.catalog.files[r.source].size;
}

void BatchSource::ended(std::uint32_t tag) {
  if (in_.scope == ReadScope::batch || !flights_[tag].open) {
    return;
  }
  if (Result<> closed = give(tag, 1); !closed) {
    closed_ = closed_ ? std::move(closed) : std::move(closed_);
  }
}

void BatchSource::complete(const ReadDone& done) {
  latency_.add(static_cast<std::uint64_t>(done.now - done.submit_ns));
  ended(done.tag);
  const Piece& piece = in_.plan.pieces[in_.plan.first_piece[flights_[done.tag].read]];
  if (piece.parcel_offset + piece.length < in_.plan.parcel_bytes[piece.parcel]) {
    return;  // more reads of this sample follow
  }
  if (in_.scope == ReadScope::sample) {
    spin_cpu(in_.decode_cpu.count());
  } else {
    ++decode_;
  }
}

void BatchSource::fail(std::uint32_t tag, int error, std::int64_t /*now*/) {
  ended(tag);
  failures_.push_back({flights_[tag].read, error});
}

}  // namespace blksweep
