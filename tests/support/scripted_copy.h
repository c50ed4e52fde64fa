// ScriptedCopy: a CopyStage that moves nothing, counts what it is asked and fails where it is told.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "loader/handoff.h"
#include "stage/copy_stage.h"

namespace blksweep {

class ScriptedCopy final : public CopyStage {
 public:
  Result<> begin(std::uint32_t batch, std::span<const BatchPart> /*parts*/) override {
    expect(batch == begun, fmt::format("batch {} begins out of order", batch));
    // The slot's earlier batch has been consumed.
    expect(consumed->value() + slots > batch, fmt::format("batch {} took a used slot", batch));
    most_in_flight = std::max(most_in_flight, ++begun - finished);
    return batch == fail_begin ? failure(batch) : Result<>();
  }
  Result<CopyTimes> finish(std::uint32_t batch) override {
    expect(batch == finished, fmt::format("batch {} finishes out of order", batch));
    ++finished;
    if (on_finish) {
      on_finish(batch);
    }
    if (batch == fail_finish) {
      return tl::unexpected(failure(batch).error());
    }
    return times;
  }
  std::uint32_t in_flight() const override { return ahead; }
  const std::byte* staged(std::uint32_t /*batch*/) const override { return nullptr; }
  std::optional<BatchArrival> arrival(std::uint32_t /*batch*/) const override { return arrives; }
  std::span<const TransferSlice> slices(std::uint32_t batch) const override {
    slices_.assign(pieces, {times.transfer, batch, 0, 1});
    return slices_;
  }
  Releases releases() const override { return gives_back; }
  Result<> release(std::uint32_t batch) override {
    expect(batch == released, fmt::format("batch {} is released out of order", batch));
    ++released;
    if (on_release) {
      on_release(batch);
    }
    return batch == fail_release ? failure(batch) : Result<>();
  }

  static constexpr std::uint32_t kNever = ~0U;
  std::uint32_t ahead = 1, slots = 1;
  std::uint32_t fail_begin = kNever, fail_finish = kNever, fail_release = kNever;
  std::function<void(std::uint32_t)> on_finish, on_release;
  std::optional<BatchArrival> arrives;
  Releases gives_back = Releases::nothing;
  std::uint32_t pieces = 1;  // of a transfer
  CopyTimes times{{1, 2}, {1, 2}};
  const Counter* consumed = nullptr;
  // Written by the copy thread.
  std::uint32_t begun = 0, finished = 0, most_in_flight = 0, released = 0;
  std::string wrong;

 private:
  static Result<> failure(std::uint32_t batch) {
    return fail(fmt::format("copy of batch {}: made to fail", batch));
  }
  mutable std::vector<TransferSlice> slices_;
  void expect(bool held, const std::string& what) { wrong += held ? "" : what + "\n"; }
};

}  // namespace blksweep
