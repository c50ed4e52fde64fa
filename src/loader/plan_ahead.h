// PlanAhead: the reads of a plan for an engine that tells the kernel of them ahead (hint).
//
// Opens each file by its name once more, as the thread of a training loop would.
// Lifetime: borrows catalog and plan. Threads: open() on one, the rest on any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "dataset/data_files.h"
#include "io/hint_engine.h"
#include "plan/plan.h"

namespace blksweep {

class PlanAhead final : public UpcomingReads {
 public:
  static Result<std::unique_ptr<PlanAhead>> make(const Catalog& catalog, const Plan& plan);

  std::size_t size() const override { return plan_.reads.size(); }
  Read at(std::size_t read) const override;
  Fd open(std::uint32_t file) override;

 private:
  PlanAhead(const Catalog& catalog, const Plan& plan, DataFiles data);

  const Catalog& catalog_;
  const Plan& plan_;
  DataFiles data_;
  std::string path_;  // scratch
};

}  // namespace blksweep
