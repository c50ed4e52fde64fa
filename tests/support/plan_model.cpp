#include "support/plan_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>

namespace blksweep::support {
namespace {

constexpr std::uint64_t kNever = ~std::uint64_t{0};
constexpr std::uint64_t kLanded = kNever - 1;  // beyond the end of the file: any content

using Memory = std::vector<std::vector<std::uint64_t>>;  // parcel -> word per byte

std::string check_read(const Plan& plan, std::uint32_t r, const MergeSettings& s) {
  const Read& read = plan.reads[r];
  const std::uint64_t max = std::max<std::uint64_t>(align_down(s.max.n, s.align), s.align);
  if (read.length == 0 || read.length > max || read.length % s.align != 0 ||
      read.offset % s.align != 0) {
    return fmt::format("read {}: offset {} length {}", r, read.offset, read.length);
  }
  if (read.source == kZeros && read.offset != 0) {
    return fmt::format("read {}: a hole lies nowhere, and this one at {}", r, read.offset);
  }
  std::uint64_t end = 0;
  for (std::uint32_t i = plan.first_piece[r]; i < plan.first_piece[r + 1]; ++i) {
    const Piece& p = plan.pieces[i];
    const std::uint32_t all = p.parcel_offset | p.read_offset | p.length;
    if (p.read_offset < end || p.read_offset - end > s.gap.n || all % s.align != 0 ||
        p.length == 0) {
      return fmt::format("read {} piece {}: at {} after {}, length {}", r, i, p.read_offset, end,
                         p.length);
    }
    end = std::uint64_t{p.read_offset} + p.length;
  }
  return end == read.length ? "" : fmt::format("read {}: pieces end at {}", r, end);
}

void words_of(const SyntheticCatalog& data, const Catalog& c, const Read& read, std::uint64_t at,
              std::span<std::uint64_t> out) {
  std::ranges::fill(out, read.source == kZeros ? 0 : kLanded);
  if (read.source == kFromDevice) {
    SyntheticCatalog::device_words(read.offset + at, out);
  } else if (read.source != kZeros) {
    const std::uint64_t begin = read.offset + at;
    const std::uint64_t end = std::min(begin + out.size(), c.files[read.source].size);
    data.file_words(read.source, begin, out.first(end > begin ? end - begin : 0));
  }
}

std::string land(const SyntheticCatalog& data, const Plan& plan, std::uint32_t r, Memory& memory) {
  const Catalog c = data.view();
  for (std::uint32_t i = plan.first_piece[r]; i < plan.first_piece[r + 1]; ++i) {
    const Piece& p = plan.pieces[i];
    auto& parcel = memory[p.parcel];
    if (std::uint64_t{p.parcel_offset} + p.length > parcel.size()) {
      return fmt::format("piece {} runs past parcel {}", i, p.parcel);
    }
    const auto place = std::span(parcel).subspan(p.parcel_offset, p.length);
    if (static_cast<std::size_t>(std::count(place.data(), place.data() + place.size(), kNever)) !=
        place.size()) {
      return fmt::format("piece {} lands on bytes of parcel {} that are there", i, p.parcel);
    }
    words_of(data, c, plan.reads[r], p.read_offset, place);
  }
  return "";
}

std::string check_sample(const SyntheticCatalog& data, const Plan& plan, std::uint32_t position,
                         const Memory& memory) {
  const Sample s = data.view().sample(plan.order[position]);
  const auto& parcel = memory[plan.parcel_of(position)];
  if (plan.head[position] + s.length > parcel.size()) {
    return fmt::format("position {} does not fit its parcel", position);
  }
  std::vector<std::uint64_t> wanted(s.length);
  data.file_words(s.file, s.offset, wanted);
  const std::uint64_t* got = parcel.data() + plan.head[position];
  const auto wrong = std::mismatch(got, got + s.length, wanted.data()).first;
  return wrong == got + s.length
             ? ""
             : fmt::format("position {} sample {} byte {} of {} is wrong", position,
                           plan.order[position], wrong - got, s.length);
}

struct Live {
  const Plan& plan;
  const Schedule& schedule;
  struct Lying {
    std::uint64_t end;
    std::uint32_t parcel;
  };
  std::map<std::uint64_t, Lying> taken;  // by begin, arena bytes
  std::vector<bool> placed;
  std::vector<std::uint32_t> users;
  std::size_t exchanged = 0;

  std::string arrive(std::uint32_t parcel) {
    if (placed[parcel]) {
      return "";
    }
    placed[parcel] = true;
    const std::uint64_t begin = std::uint64_t{schedule.slot[parcel]} * kSlotUnit;
    const std::uint64_t end = begin + plan.parcel_bytes[parcel];
    const auto next = taken.lower_bound(begin);
    if (end > schedule.arena.n || (next != taken.end() && next->first < end) ||
        (next != taken.begin() && std::prev(next)->second.end > begin)) {
      return fmt::format("parcel {} at {}..{} overlaps another", parcel, begin, end);
    }
    taken.emplace(begin, Lying{end, parcel});
    return "";
  }

  std::string exchange(std::uint32_t end, const std::vector<std::uint32_t>& needed,
                       std::uint32_t complete) {
    const auto& all = schedule.in_place.exchanges;
    for (; exchanged < all.size() && all[exchanged].emission < end; ++exchanged) {
      const auto place = taken.find(std::uint64_t{all[exchanged].place} * kSlotUnit);
      const auto other = taken.find(std::uint64_t{all[exchanged].other} * kSlotUnit);
      if (place == taken.end() || other == taken.end() ||
          std::max(needed[place->second.parcel], needed[other->second.parcel]) > complete) {
        return fmt::format("exchange {} of nothing", exchanged);
      }
      std::swap(other->second.parcel, place->second.parcel);
    }
    return "";
  }

  std::string consume(std::uint32_t batch, const std::vector<std::uint32_t>& needed,
                      std::uint32_t complete) {
    if (auto wrong = exchange(schedule.batch_begin[batch + 1], needed, complete); !wrong.empty()) {
      return wrong;
    }
    for (std::uint32_t i = schedule.batch_begin[batch]; i < schedule.batch_begin[batch + 1]; ++i) {
      const std::uint32_t parcel = plan.parcel_of(schedule.emission[i]);
      if (needed[parcel] > complete) {
        return fmt::format("deadlock: batch {} needs read {} of {} submitted", batch,
                           needed[parcel], complete);
      }
      if (plan.parcel_bytes[parcel] == 0) {
        continue;
      }
      const auto lying = taken.find(schedule.place_of(plan, i) - plan.head[schedule.emission[i]]);
      if (lying == taken.end() || lying->second.parcel != parcel) {
        return fmt::format("emission {} is parcel {}, and another one lies there", i, parcel);
      }
      if (--users[parcel] == 0) {
        taken.erase(lying);
      }
    }
    return "";
  }
};

std::vector<std::uint32_t> needed_reads(const Plan& plan) {
  std::vector<std::uint32_t> needed(plan.parcel_bytes.size());
  for (std::uint32_t r = 0; r < plan.reads.size(); ++r) {
    for (std::uint32_t i = plan.first_piece[r]; i < plan.first_piece[r + 1]; ++i) {
      needed[plan.pieces[i].parcel] = r + 1;
    }
  }
  return needed;
}

std::vector<std::uint32_t> users_of(const Plan& plan) {
  std::vector<std::uint32_t> users(plan.parcel_bytes.size());
  for (std::uint32_t p = 0; p < plan.order.size(); ++p) {
    ++users[plan.parcel_of(p)];
  }
  return users;
}

}  // namespace

std::string check_plan(const SyntheticCatalog& data, const Plan& plan,
                       const MergeSettings& settings) {
  Memory memory(plan.parcel_bytes.size());
  for (std::size_t p = 0; p < memory.size(); ++p) {
    memory[p].assign(plan.parcel_bytes[p], kNever);
  }
  if (plan.first_piece.size() != plan.reads.size() + 1 ||
      plan.first_piece.back() != plan.pieces.size()) {
    return "first_piece does not close";
  }
  for (std::uint32_t r = 0; r < plan.reads.size(); ++r) {
    if (auto wrong = check_read(plan, r, settings) + land(data, plan, r, memory); !wrong.empty()) {
      return wrong;
    }
  }
  for (const auto& parcel : memory) {
    if (std::count(parcel.data(), parcel.data() + parcel.size(), kNever) != 0) {
      return "a byte of a parcel is never read";
    }
  }
  for (std::uint32_t p = 0; p < plan.order.size(); ++p) {
    if (auto wrong = check_sample(data, plan, p, memory); !wrong.empty()) {
      return wrong;
    }
  }
  return "";
}

std::string check_schedule(const Plan& plan, const Schedule& schedule) {
  Live live{plan, schedule, {}, std::vector<bool>(plan.parcel_bytes.size()), users_of(plan)};
  const std::vector<std::uint32_t> needed = needed_reads(plan);
  std::size_t gate = 0;
  std::uint32_t consumed = 0;
  for (std::uint32_t r = 0; r < plan.reads.size(); ++r) {
    for (; gate < schedule.gates.size() && schedule.gates[gate].read <= r; ++gate) {
      for (; consumed < schedule.gates[gate].consumed_batches; ++consumed) {
        if (auto wrong = live.consume(consumed, needed, r); !wrong.empty()) {
          return wrong;
        }
      }
    }
    for (std::uint32_t i = plan.first_piece[r]; i < plan.first_piece[r + 1]; ++i) {
      if (auto wrong = live.arrive(plan.pieces[i].parcel); !wrong.empty()) {
        return fmt::format("read {}: {}", r, wrong);
      }
    }
  }
  for (; consumed < schedule.batches(); ++consumed) {
    const auto all = static_cast<std::uint32_t>(plan.reads.size());
    if (auto wrong = live.consume(consumed, needed, all); !wrong.empty()) {
      return wrong;
    }
  }
  return gate == schedule.gates.size() ? "" : "a gate is behind the last read";
}

}  // namespace blksweep::support
