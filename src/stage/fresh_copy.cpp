#include "stage/fresh_copy.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/units.h"

namespace blksweep {
namespace {

// PageBuffer touches its pages and asks for huge ones; here page faults are what is measured, of
// the size that the node gives to a program that asks for nothing.
class FreshMemory {
 public:
  FreshMemory() = default;
  static Result<FreshMemory> map(std::size_t bytes) {
    FreshMemory m;
    m.size_ = align_up(bytes == 0 ? 1 : bytes, kPageBytes);
    void* at = ::mmap(nullptr, m.size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) {
      return sys_error(errno, "allocate " + format_bytes({m.size_}) +
                                  " for a batch (--staging per-batch; try a smaller --batch)");
    }
    m.data_ = static_cast<std::byte*>(at);
    return m;
  }
  FreshMemory(FreshMemory&& o) noexcept
      : data_(std::exchange(o.data_, nullptr)), size_(std::exchange(o.size_, 0)) {}
  FreshMemory& operator=(FreshMemory&& o) noexcept {
    std::swap(data_, o.data_);
    std::swap(size_, o.size_);
    return *this;
  }
  ~FreshMemory() {
    if (data_ != nullptr) {
      ::munmap(data_, size_);
    }
  }
  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

std::size_t sum_of(std::span<const BatchPart> parts) {
  std::size_t bytes = 0;
  for (const BatchPart& part : parts) {
    bytes += part.bytes;
  }
  return bytes;
}

class FreshCopy final : public CopyStage {
 public:
  FreshCopy(std::uint32_t slots, std::unique_ptr<CopyStage> link)
      : memory_(slots), link_(std::move(link)) {}

  Result<> begin(std::uint32_t batch, std::span<const BatchPart> parts) override {
    times_.all.begin = now_ns();
    FreshMemory& mine = memory_[batch % memory_.size()];
    const std::size_t bytes = sum_of(parts);
    BLKSWEEP_TRY(mine, FreshMemory::map(bytes));
    times_.transfer.begin = now_ns();
    std::byte* to = mine.data();
    for (const BatchPart& part : parts) {
      std::memcpy(to, part.data, part.bytes);
      to += part.bytes;
    }
    times_.all.end = times_.transfer.end = now_ns();
    slice_ = {times_.transfer, batch, 0, bytes};
    gathered_ = {mine.data(), bytes};
    return link_ ? link_->begin(batch, {&gathered_, 1}) : Result<>();
  }

  Result<CopyTimes> finish(std::uint32_t batch) override {
    if (link_) {
      BLKSWEEP_TRY(const CopyTimes moved, link_->finish(batch));
      times_.transfer = moved.transfer;
      times_.all.end = moved.all.end;
    }
    return times_;
  }

  std::optional<BatchArrival> arrival(std::uint32_t batch) const override {
    return link_ ? link_->arrival(batch) : BatchArrival{.at_ns = times_.transfer.end};
  }
  std::span<const TransferSlice> slices(std::uint32_t batch) const override {
    return link_ ? link_->slices(batch) : std::span(&slice_, 1);
  }

  // Behind a link the batch is on the accelerator; else it lies in what was allocated for it.
  Releases releases() const override { return link_ ? Releases::arrived : Releases::consumed; }
  Result<> release(std::uint32_t batch) override {
    memory_[batch % memory_.size()] = FreshMemory();
    return {};
  }

  const std::byte* staged(std::uint32_t batch) const override {
    return memory_[batch % memory_.size()].data();
  }

 private:
  std::vector<FreshMemory> memory_;  // by slot
  std::unique_ptr<CopyStage> link_;
  BatchPart gathered_{};
  // Of the one batch between begin() and finish().
  CopyTimes times_;
  TransferSlice slice_;  // without a link
};

}  // namespace

std::unique_ptr<CopyStage> make_fresh_copy(std::uint32_t slots, std::unique_ptr<CopyStage> link) {
  return std::make_unique<FreshCopy>(slots, std::move(link));
}

}  // namespace blksweep
