#include <algorithm>

#include "plan/plan.h"

namespace blksweep {
namespace {

constexpr std::uint64_t kUnknown = ~std::uint64_t{0};

// `head`: where the last read ended on the device.
struct Seeks {
  std::uint64_t count = 0;
  bool all_known = true;
  double distance = 0;

  void add(std::uint64_t head, std::uint64_t address) {
    if (head == kUnknown || address == kUnknown) {
      all_known = false;
    } else if (head != address) {
      ++count;
      distance += static_cast<double>(std::max(head, address) - std::min(head, address));
    }
  }
  std::optional<double> mean() const {
    return count > 0 ? std::optional(distance / static_cast<double>(count)) : std::nullopt;
  }
};

// In units the first of a read may be the last of the one before.
std::uint64_t continued(std::uint64_t address, std::uint64_t head, std::uint32_t unit) {
  return unit > 1 && address + unit == head ? head : address;
}

// Sample bytes of `piece` in a parcel of one sample; a shared parcel is wanted as a whole.
std::uint64_t wanted(const Catalog& catalog, const Plan& plan, const Piece& piece) {
  if (!plan.parcel.empty()) {
    return piece.length;
  }
  const std::uint64_t begin = plan.head[piece.parcel];
  const std::uint64_t end = begin + catalog.sample(plan.order[piece.parcel]).length;
  const std::uint64_t from = std::max<std::uint64_t>(begin, piece.parcel_offset);
  const std::uint64_t to = std::min(end, std::uint64_t{piece.parcel_offset} + piece.length);
  return to > from ? to - from : 0;
}

// Behind the last byte that the device gives for it.
std::uint64_t end_of(const Catalog& catalog, const Read& read) {
  const std::uint64_t end = read.offset + read.length;
  if (read.source == kFromDevice) {
    return end;
  }
  std::uint64_t address = kUnknown;
  for (const ExtentRecord& e : catalog.extents_from(read.source, read.offset)) {
    if (e.file_offset >= end) {
      break;
    }
    address = e.address_behind(std::min(end, e.file_end()));
  }
  return address;
}

}  // namespace

std::uint64_t address_of(const Catalog& catalog, const Read& read) {
  if (read.source == kFromDevice) {
    return read.offset;
  }
  const auto there = catalog.extents_from(read.source, read.offset);
  if (there.empty() || !there.front().has_address() || read.offset < there.front().file_offset) {
    return kUnknown;
  }
  return there.front().address_of(read.offset);
}

PlanSummary summarize(const Catalog& catalog, const Plan& plan, std::uint32_t unit) {
  PlanSummary sum;
  Seeks seeks;
  std::uint64_t head = kUnknown;
  std::uint64_t zero_bytes = 0;
  for (std::size_t r = 0; r < plan.reads.size(); ++r) {
    const Read& read = plan.reads[r];
    if (read.source == kZeros) {
      zero_bytes += wanted(catalog, plan, plan.pieces[plan.first_piece[r]]);
      continue;
    }
    std::uint64_t address = address_of(catalog, read);
    const std::uint64_t end = end_of(catalog, read);
    if (address != kUnknown && head != kUnknown) {
      address = continued(align_down(address, unit), head, unit);
    }
    if (sum.reads++ > 0) {
      seeks.add(head, address);
    }
    sum.read_bytes += read.length;
    head = end == kUnknown ? kUnknown : align_up(end, unit);
  }
  sum.seeks = seeks.all_known ? std::optional(seeks.count) : std::nullopt;
  sum.mean_seek_bytes = seeks.mean();
  sum.sample_bytes = plan.sample_bytes;
  const std::uint64_t from_disk = sum.sample_bytes - std::min(zero_bytes, sum.sample_bytes);
  sum.gap_bytes = sum.read_bytes > from_disk ? sum.read_bytes - from_disk : 0;
  return sum;
}

bool reads_device(const Plan& plan) {
  return std::ranges::any_of(plan.reads, [](const Read& r) { return r.source == kFromDevice; });
}

bool opens_files(const Plan& plan) {
  return std::ranges::any_of(plan.reads, [](const Read& r) { return r.source < kZeros; });
}

}  // namespace blksweep
