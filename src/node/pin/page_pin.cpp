// PagePin: mapped and locked files, in this process as far as its mappings go, beyond that in
// helpers.
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/clock.h"
#include "node/limits/descriptor_room.h"
#include "node/pin/page_helper.h"
#include "node/pin/page_lock.h"
#include "node/pin/pin.h"

namespace blksweep {
namespace {

constexpr std::int64_t kLookEveryNs = 20'000'000;

void raise_lock_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_MEMLOCK, &limit);  // where it stays too small, mlock says so
  }
}

}  // namespace

struct PagePin::State final : StopLook {
  State(const PinFiles& all, const std::function<bool()>& asked, const PinProgress& told)
      : files(&all), ask(&asked), tell(&told) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { std::ranges::for_each(mapped, unlock_file); }

  const PinFiles* files;  // these three: during take() only
  const std::function<bool()>* ask;
  const PinProgress* tell;
  std::vector<LockedFile> mapped;
  std::vector<PageHelper> helpers;
  PinCount count;
  std::uint64_t own_done = 0;
  std::int64_t looked_ns = 0;
  bool stopped = false;

  bool stop() override {
    if (const std::int64_t now = now_ns(); now - looked_ns >= kLookEveryNs) {
      looked_ns = now;
      stopped = stopped || (*ask && (*ask)());
      if (*tell) {
        std::uint64_t done = own_done;
        for (const PageHelper& helper : helpers) {
          done += helper.done();
        }
        (*tell)(done);
      }
    }
    return stopped;
  }

  // Helpers take what is beyond `own` files.
  Result<> start_helpers(std::size_t own) {
    const auto room = static_cast<std::size_t>(mappings_per_process());
    for (std::size_t at = own; at < files->count; at += room) {
      BLKSWEEP_TRY(PageHelper helper,
                   PageHelper::start(*files, at, std::min(at + room, files->count)));
      helpers.push_back(std::move(helper));
    }
    return {};
  }

  Result<> lock_own(std::size_t own) {
    for (std::size_t i = 0; i < std::min(kFilesAhead, own); ++i) {
      read_ahead(files->path(i).c_str());
    }
    for (std::size_t i = 0; i < own; ++i, ++own_done) {
      if (i + kFilesAhead < own) {
        read_ahead(files->path(i + kFilesAhead).c_str());
      }
      BLKSWEEP_CHECK(lock_one(files->path(i)));
    }
    return {};
  }

  Result<> lock_one(const std::string& path) {
    LockedFile file;
    const int error = stop() ? EINTR : lock_file(path.c_str(), *this, file);
    if (error != 0 && is_out_of_memory(error)) {
      return lock_error(error, path);
    }
    if (error == 0) {
      ++count.files;
      count.bytes.n += file.length;
      mapped.push_back(file);
    } else if (count.failed++ == 0) {
      count.first_error = sys_error(error, "pin " + path).value().text;
    }
    return {};
  }

  Result<> wait_for_helpers() {
    for (PageHelper& helper : helpers) {
      std::optional<Result<PinCount>> result = helper.result(*files);
      for (; !result; result = helper.result(*files)) {
        if (stop()) {
          return lock_error(EINTR, "");
        }
        const timespec pause{.tv_sec = 0, .tv_nsec = kLookEveryNs / 2};
        ::nanosleep(&pause, nullptr);
      }
      BLKSWEEP_TRY(const PinCount part, *std::move(result));
      count.add(part);
    }
    return {};
  }
};

Result<PagePin> PagePin::take(const PinFiles& files, const std::function<bool()>& stop,
                              const PinProgress& progress) {
  raise_lock_limit();
  auto state = std::make_unique<State>(files, stop, progress);
  const std::size_t own = std::min(files.count, static_cast<std::size_t>(mappings_per_process()));
  BLKSWEEP_CHECK(state->start_helpers(own));
  BLKSWEEP_CHECK(state->lock_own(own));
  BLKSWEEP_CHECK(state->wait_for_helpers());
  state->count.helpers = state->helpers.size();
  return PagePin(std::move(state));
}

PagePin::PagePin(std::unique_ptr<State> state) : state_(std::move(state)) {}
PagePin::PagePin(PagePin&&) noexcept = default;
PagePin& PagePin::operator=(PagePin&&) noexcept = default;
PagePin::~PagePin() = default;
const PinCount& PagePin::count() const { return state_->count; }
bool PagePin::is_whole() const { return std::ranges::all_of(state_->helpers, &PageHelper::lives); }

}  // namespace blksweep
