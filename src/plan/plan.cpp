#include "plan/plan.h"

#include <algorithm>
#include <numeric>

#include "plan/merge_reads.h"
#include "plan/plan_segments.h"

namespace blksweep {
namespace {

// A random order misses the cache on every record; positions this far ahead are fetched early.
constexpr std::size_t kAhead = 12;
// Keeps a shared parcel within 32 bits whatever the caller asks for.
constexpr std::uint64_t kMaxShared = std::uint64_t{1} << 30;

SegmentRules rules_for(const Catalog& catalog, const MergeSettings& settings) {
  SegmentRules rules;
  rules.align = settings.align;
  rules.device = settings.merge == Merge::device && catalog.device_readable;
  rules.split_extents =
      !settings.whole && (settings.merge == Merge::none || settings.merge == Merge::kernel);
  if (settings.merge == Merge::file) {
    rules.min_hole = settings.gap.n + 1;  // cheaper to read through than to split the read
  } else if (settings.whole) {
    rules.min_hole = ~std::uint64_t{0};
  }
  return rules;
}

SegmentRange aligned_range(const Sample& s, std::uint64_t align) {
  const std::uint64_t from = align_down(s.offset, align);
  return {s.file, from, from, align_up(s.offset + s.length, align)};
}

class Planner {
 public:
  Planner(const Catalog& catalog, const MergeSettings& settings, Plan& plan)
      : catalog_(catalog),
        settings_(settings),
        rules_(rules_for(catalog, settings)),
        plan_(plan),
        reads_(plan, settings) {}

  void run() {
    for (std::uint32_t p = 0; p < plan_.order.size(); ++p) {
      prefetch(p);
      const Sample s = catalog_.sample(plan_.order[p]);
      if (s.length == 0) {
        open_parcel(0, 0);
      } else {
        plan_.sample_bytes += s.length;
        watch_horizon(plan_.order[p]);
        add_sample(p, s);
      }
    }
    reads_.finish();
  }

 private:
  // A sample that begins before the one in front of it begins another run of the order (a chunk, a
  // sorted window, an epoch): sorting across would undo what the order was asked for.
  void watch_horizon(std::uint32_t sample) {
    if (settings_.merge == Merge::device && settings_.horizon.n > 0) {
      const std::uint64_t address = catalog_.first_address(sample);
      if (address < address_) {
        reads_.end_horizon();
      }
      address_ = address;
    }
  }

  void add_sample(std::uint32_t p, const Sample& s) {
    SegmentRange range = aligned_range(s, rules_.align);
    if (shares_block(range)) {
      join_parcel(p, s, range);
    } else {
      open_parcel(range.to - range.base, s.offset - range.base);
      last_ = range;
    }
    if (range.from < range.to) {
      add_segments(range);
    }
  }

  void add_segments(const SegmentRange& range) {
    const auto parcel = static_cast<std::uint32_t>(plan_.parcel_bytes.size() - 1);
    bool through_file = false;
    for_each_segment(catalog_, rules_, range, [&](Segment s) {
      s.parcel = parcel;
      through_file |= s.source < kZeros;
      reads_.add(s);
    });
    if (through_file && settings_.merge == Merge::device) {
      ++plan_.device_fallbacks;
    }
  }

  // The sample begins in the last blocks of the newest parcel, and fits into it.
  bool shares_block(const SegmentRange& range) const {
    const bool coalesce = settings_.merge == Merge::file || settings_.merge == Merge::device;
    return coalesce && range.file == last_.file && range.from < last_.to &&
           range.from >= last_.base &&
           std::max(range.to, last_.to) - last_.base <= std::min(settings_.share.n, kMaxShared);
  }

  void open_parcel(std::uint64_t bytes, std::uint64_t head) {
    if (!plan_.parcel.empty()) {
      plan_.parcel.push_back(static_cast<std::uint32_t>(plan_.parcel_bytes.size()));
    }
    plan_.parcel_bytes.push_back(static_cast<std::uint32_t>(bytes));
    plan_.head.push_back(static_cast<std::uint32_t>(head));
    if (bytes == 0) {
      last_ = kNothing;
    }
  }

  // Extends the newest parcel; only the blocks that it does not hold yet are read.
  void join_parcel(std::uint32_t p, const Sample& s, SegmentRange& range) {
    if (plan_.parcel.empty()) {
      plan_.parcel.reserve(plan_.order.size());
      plan_.parcel.resize(p);
      std::iota(plan_.parcel.begin(), plan_.parcel.end(), 0U);
    }
    plan_.parcel.push_back(static_cast<std::uint32_t>(plan_.parcel_bytes.size() - 1));
    plan_.head.push_back(static_cast<std::uint32_t>(s.offset - last_.base));
    range.base = last_.base;
    range.from = last_.to;
    last_.to = std::max(range.to, last_.to);
    plan_.parcel_bytes.back() = static_cast<std::uint32_t>(last_.to - last_.base);
  }

  // Sample record, then file record, then extents: each needs the one before.
  void prefetch(std::size_t p) const {
    asm volatile("");  // gcc 12 drops a function that does nothing but prefetch
    const std::size_t whole = catalog_.whole.size();
    const auto ahead = [&](std::size_t distance) {
      return plan_.order[std::min(p + distance, plan_.order.size() - 1)];
    };
    if (const std::uint32_t s = ahead(3 * kAhead); s < whole) {
      __builtin_prefetch(&catalog_.whole[s]);
    } else {
      __builtin_prefetch(&catalog_.parts[s - whole]);
    }
    const std::uint32_t second = ahead(2 * kAhead);
    const std::uint32_t file =
        second < whole ? catalog_.whole[second].file : catalog_.parts[second - whole].file;
    __builtin_prefetch(&catalog_.files[file]);
    __builtin_prefetch(&catalog_.files[file] + 1);
    const std::uint32_t third = catalog_.sample(ahead(kAhead)).file;
    __builtin_prefetch(catalog_.extents.data() + catalog_.files[third].first_extent);
  }

  static constexpr SegmentRange kNothing{0xFFFFFFFF, 0, 0, 0};

  const Catalog& catalog_;
  const MergeSettings& settings_;
  const SegmentRules rules_;
  Plan& plan_;
  ReadBuilder reads_;
  SegmentRange last_ = kNothing;  // the newest parcel
  std::uint64_t address_ = 0;     // of the newest sample, where a horizon is kept
};

void reserve(Plan& plan, std::size_t segments) {
  plan.reads.reserve(segments);
  plan.pieces.reserve(segments);
  plan.first_piece.reserve(segments + 1);
  plan.parcel_bytes.reserve(plan.order.size());
  plan.head.reserve(plan.order.size());
}

template <class T>
void give_back(std::vector<T>& v) {
  if (v.size() < v.capacity() / 2) {
    v.shrink_to_fit();
  }
}

}  // namespace

// A horizon's bound is of the data and the settings alone: the emission of an epoch may depend on
// it, and must be the same whichever epochs are planned with it.
std::optional<PlanNeeds> plan_needs(const Catalog& catalog, const MergeSettings& settings,
                                    std::uint64_t most) {
  const SegmentRules rules = rules_for(catalog, settings);
  const std::uint64_t max = ReadBuilder::max_bytes(settings);
  PlanNeeds needs;
  std::uint64_t whole = 0;
  std::uint64_t longest = 0;  // alone it may be longer than a horizon
  for (std::uint32_t i = 0; i < catalog.samples() && needs.segments <= most; ++i) {
    const Sample s = catalog.sample(i);
    if (s.length == 0) {
      continue;
    }
    const SegmentRange range = aligned_range(s, rules.align);
    whole += range.to - range.from;
    longest = std::max(longest, range.to - range.from);
    for_each_segment(catalog, rules, range, [&](const Segment& segment) {
      needs.segments += segment.length <= max ? 1 : (segment.length + max - 1) / max;
    });
  }
  if (settings.merge == Merge::device && settings.horizon.n > 0) {
    needs.horizon_most = std::min(whole, std::max(settings.horizon.n, longest));
  }
  return needs.segments <= most ? std::optional(needs) : std::nullopt;
}

Plan make_plan(const Catalog& catalog, std::vector<std::uint32_t> order, std::uint32_t epochs,
               const MergeSettings& settings) {
  constexpr std::uint64_t kAny = ~std::uint64_t{0};
  return make_plan(catalog, std::move(order), epochs, settings,
                   *plan_needs(catalog, settings, kAny));
}

Plan make_plan(const Catalog& catalog, std::vector<std::uint32_t> order, std::uint32_t epochs,
               const MergeSettings& settings, const PlanNeeds& needs) {
  Plan plan;
  plan.order = std::move(order);
  plan.epochs = epochs;
  plan.horizon_most = needs.horizon_most;
  plan.submit_batch = settings.merge == Merge::kernel ? std::max(settings.batch, 1U) : 0;
  reserve(plan, needs.segments * epochs);
  Planner(catalog, settings, plan).run();
  give_back(plan.reads);
  give_back(plan.pieces);
  give_back(plan.first_piece);
  give_back(plan.parcel_bytes);
  return plan;
}

}  // namespace blksweep
