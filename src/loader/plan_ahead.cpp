#include "loader/plan_ahead.h"

#include <algorithm>
#include <utility>

namespace blksweep {

PlanAhead::PlanAhead(const Catalog& catalog, const Plan& plan, DataFiles data)
    : catalog_(catalog), plan_(plan), data_(std::move(data)) {
  path_.reserve(4096);
}

Result<std::unique_ptr<PlanAhead>> PlanAhead::make(const Catalog& catalog, const Plan& plan) {
  BLKSWEEP_TRY(DataFiles data, DataFiles::open_root(catalog));
  return std::unique_ptr<PlanAhead>(new PlanAhead(catalog, plan, std::move(data)));
}

UpcomingReads::Read PlanAhead::at(std::size_t read) const {
  const blksweep::Read& r = plan_.reads[read];
  return r.source >= kZeros ? Read{~std::uint64_t{0}, 0, 0, r.source}
                            : Read{address_of(catalog_, r), r.offset, r.length, r.source};
}

Fd PlanAhead::open(std::uint32_t file) { return Fd(std::max(-1, data_.open(file, 0, path_))); }

}  // namespace blksweep
