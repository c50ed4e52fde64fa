// Pass: one C++ loader from its first batch to its end, and the batches that Python still uses.
//
// A batch goes back to the loader when nothing in Python refers to its bytes any more: each array
// keeps a Hold, and the last one to go frees the batch. So no array ever shows bytes of another
// batch, whatever the caller keeps; who keeps too many is told (most_held).
//
// Errors:  std::runtime_error with the loader's own text; ForkedError in a process that did not
//          start the pass; BufferError when all batches that may be out are held.
// Threads: every method with the GIL held. next() gives it up while it waits; a second thread in
//          next() meanwhile is refused. Batches that are freed meanwhile go back afterwards.
// Fork:    the threads of a pass do not exist in a child, where it is left alone, not destroyed.
#pragma once

#include <blksweep/loader.h>
#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace blksweep::python {

struct ForkedError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct HeldError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Pass;

// One batch that is out; freed by the last owner.
class Hold {
 public:
  Hold(std::shared_ptr<Pass> pass, std::uint32_t number, std::vector<LoadedSample> samples)
      : pass_(std::move(pass)), number_(number), samples_(std::move(samples)) {}
  ~Hold();
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

  std::uint32_t number() const { return number_; }
  const std::vector<LoadedSample>& samples() const { return samples_; }

 private:
  std::shared_ptr<Pass> pass_;
  std::uint32_t number_;
  std::vector<LoadedSample> samples_;
};

class Pass : public std::enable_shared_from_this<Pass> {
 public:
  static std::shared_ptr<Pass> open(std::shared_ptr<const LoaderData> data,
                                    const LoaderOptions& options);
  ~Pass();
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;

  // Null at the end, which is a proven one: else it throws.
  std::shared_ptr<Hold> next();
  bool ready() const;  // next() would return at once
  // Stops reading; arrays stay as they are.
  void close();

  LoaderStats stats() const { return stats_; }
  std::uint32_t most_held() const { return loader_->most_held(); }
  std::uint32_t batches() const { return loader_->batches(); }
  std::uint32_t delivers() const { return loader_->delivers(); }
  std::uint32_t held() const;

 private:
  friend class Hold;
  explicit Pass(std::unique_ptr<Loader> loader);
  void check_process() const;
  void freed(std::uint32_t number);
  void give_back();
  void wait();

  std::unique_ptr<Loader> loader_;
  const pid_t process_;
  std::deque<bool> free_;  // batches that are out, oldest first
  std::uint32_t oldest_ = 0;
  bool busy_ = false, closed_ = false;
  LoaderStats stats_;
};

}  // namespace blksweep::python
