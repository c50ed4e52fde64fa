#include "loader/scatter.h"

#include <algorithm>
#include <cstring>

namespace blksweep {
namespace {

struct Needs {
  std::uint32_t iovecs = 1;  // of the read with the most pieces and gaps
  std::uint32_t gap = 0;     // longest gap
};

Needs needs_of(const Plan& plan) {
  Needs n;
  for (std::size_t r = 0; r < plan.reads.size(); ++r) {
    std::uint32_t at = 0;
    std::uint32_t iovecs = 0;
    for (std::uint32_t i = plan.first_piece[r]; i < plan.first_piece[r + 1]; ++i) {
      const Piece& p = plan.pieces[i];
      iovecs += p.read_offset > at ? 2 : 1;
      n.gap = std::max(n.gap, p.read_offset - std::min(at, p.read_offset));
      at = p.read_offset + p.length;
    }
    n.iovecs = std::max(n.iovecs, iovecs);
  }
  return n;
}

// Bytes that the pieces [begin, end) of one read span.
std::uint32_t span_of(const Plan& plan, std::uint32_t begin, std::uint32_t end) {
  const Piece& last = plan.pieces[end - 1];
  return last.read_offset + last.length - plan.pieces[begin].read_offset;
}

// One more than this is the first that costs more than a copy: a ring's end cuts a read in two.
constexpr std::uint32_t kFewIovecs = 2;

bool is_staged(std::size_t iovecs, std::uint32_t span, std::uint32_t pieces) {
  return iovecs > kFewIovecs && span / pieces <= kSmallPiece;
}

// Of pieces [begin, end) of one read, as build() makes them.
std::uint32_t iovecs_of(const Plan& plan, const Schedule& schedule, std::uint32_t begin,
                        std::uint32_t end) {
  std::uint32_t n = 0;
  std::uint32_t at = plan.pieces[begin].read_offset;
  std::uint64_t next = ~std::uint64_t{0};
  for (std::uint32_t i = begin; i < end; ++i) {
    const Piece& p = plan.pieces[i];
    const std::uint64_t place =
        std::uint64_t{schedule.slot[p.parcel]} * kSlotUnit + p.parcel_offset;
    const bool gap = p.read_offset > at;
    n += (gap ? 1 : 0) + (gap || place != next ? 1 : 0);
    next = place + p.length;
    at = p.read_offset + p.length;
  }
  return n;
}

}  // namespace

Bytes staging_area(const Plan& plan, const Schedule& schedule, unsigned tags) {
  std::uint32_t most = 0;
  for (std::size_t r = 0; r < plan.reads.size(); ++r) {
    const std::uint32_t begin = plan.first_piece[r];
    const std::uint32_t end = plan.first_piece[r + 1];
    if (end > begin && plan.reads[r].source != kZeros) {
      const std::uint32_t span = span_of(plan, begin, end);
      const bool staged = is_staged(iovecs_of(plan, schedule, begin, end), span, end - begin);
      most = std::max(most, staged ? span : 0);
    }
  }
  return {align_up(most, kPageBytes) * tags};
}

Result<Scatter> Scatter::make(const Plan& plan, const Schedule& schedule,
                              std::span<std::byte> arena, const ScatterRooms& rooms) {
  const Needs needs = needs_of(plan);
  Scatter s(plan, schedule, arena);
  s.row_ = needs.iovecs;
  const unsigned tags = rooms.tags;
  s.staging_ = arena.last(rooms.staging.n);
  s.room_ = static_cast<std::uint32_t>(s.staging_.size() / std::max(1U, tags));
  s.staged_.resize(tags);
  s.table_.resize(std::size_t{tags} * needs.iovecs);
  if (needs.gap > 0) {
    BLKSWEEP_TRY(s.sink_, PageBuffer::allocate({needs.gap}));
  }
  return s;
}

std::span<iovec> Scatter::build(std::uint32_t tag, std::uint32_t begin, std::uint32_t end) {
  iovec* const row = table_.data() + std::size_t{tag} * row_;
  std::uint32_t n = 0;
  std::uint32_t at = plan_->pieces[begin].read_offset;
  for (std::uint32_t i = begin; i < end; ++i) {
    const Piece& p = plan_->pieces[i];
    std::byte* const to = place(p);
    const bool gap = p.read_offset > at;
    if (gap) {
      row[n++] = {sink_.data(), p.read_offset - at};
    }
    if (!gap && n > 0 && static_cast<std::byte*>(row[n - 1].iov_base) + row[n - 1].iov_len == to) {
      row[n - 1].iov_len += p.length;
    } else {
      row[n++] = {to, p.length};
    }
    at = p.read_offset + p.length;
  }
  return {row, n};
}

std::span<iovec> Scatter::aim(std::uint32_t tag, std::uint32_t begin, std::uint32_t end) {
  const std::span<iovec> iov = build(tag, begin, end);
  const std::uint32_t span = span_of(*plan_, begin, end);
  const bool stage = span <= room_ && is_staged(iov.size(), span, end - begin);
  staged_[tag] = stage ? 1 : 0;
  if (!stage) {
    return iov;
  }
  iov[0] = {staging_.data() + std::size_t{tag} * room_, span};
  return iov.first(1);
}

void Scatter::arrived(std::uint32_t tag, std::uint32_t begin, std::uint32_t end) {
  if (staged_[tag] == 0) {
    return;
  }
  ++staged_reads_;
  const std::byte* const from = staging_.data() + std::size_t{tag} * room_;
  const std::uint32_t first = plan_->pieces[begin].read_offset;
  for (std::uint32_t i = begin; i < end; ++i) {
    const Piece& p = plan_->pieces[i];
    std::memcpy(place(p), from + (p.read_offset - first), p.length);
  }
}

std::span<iovec> Scatter::advance(std::span<iovec> iov, std::uint32_t bytes) {
  while (!iov.empty() && bytes >= iov.front().iov_len) {
    bytes -= static_cast<std::uint32_t>(iov.front().iov_len);
    iov = iov.subspan(1);
  }
  if (!iov.empty()) {
    iov.front().iov_base = static_cast<std::byte*>(iov.front().iov_base) + bytes;
    iov.front().iov_len -= bytes;
  }
  return iov;
}

}  // namespace blksweep
