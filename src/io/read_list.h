// ReadList: a list of reads of one file as a source of the loop, each into a place of its own.
//
// Ends with the list, or at `until`. The file is slot 0 of the engine; a read that comes back short
// is not asked for again.
// Lifetime: borrows everything. Memory and iovecs outlive the engine, which drains when it goes,
//           even after a loop that could not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/byte_range.h"
#include "io/read_loop.h"

namespace blksweep {

// An engine whose slot 0 is `file`.
Result<std::unique_ptr<Engine>> make_engine_on(Fd file, EngineKind kind, unsigned depth,
                                               std::span<std::byte> arena);

class ReadList : public ReadSource {
 public:
  // `iov`: one for each read in flight; `memory`: as many equal places.
  ReadList(std::span<const ByteRange> reads, std::span<std::byte> memory, std::span<iovec> iov,
           std::int64_t until);

  Next next(std::uint32_t tag, WantedRead& wanted) final;
  bool more() const final { return !over_ && next_ < reads_.size(); }
  ReadAim aim(std::uint32_t tag, std::uint32_t done) final;
  void complete(const ReadDone& done) final { ended(read_of_[done.tag], done, 0); }
  void fail(std::uint32_t tag, int error, std::int64_t now) final {
    ended(read_of_[tag], {tag, 0, now, now}, error);
  }
  void settle(std::int64_t now) final;

 protected:
  // errno, or 0 and as many bytes as there are.
  virtual void ended(std::size_t read, const ReadDone& done, int error) = 0;
  // ns from the completions before it until it is due.
  virtual std::int64_t pause_before(std::size_t /*read*/) const { return 0; }
  void end_here() { over_ = true; }

 private:
  const std::span<const ByteRange> reads_;
  const std::span<std::byte> memory_;
  const std::span<iovec> iov_;  // by tag
  const std::int64_t until_;
  std::vector<std::size_t> read_of_;  // by tag
  std::size_t next_ = 0;
  std::int64_t now_ = 0;  // at the last settle()
  bool over_ = false;
};

}  // namespace blksweep
