#include "model/flash.h"

#include <algorithm>

#include "model/admission.h"

namespace blksweep {
namespace {

class Flash final : public DiskModel {
 public:
  explicit Flash(const FlashSpec& spec)
      : spec_(spec), admission_(spec.queue), channel_free_(spec.channels, 0.0) {}

  void arrive(std::int64_t now, std::uint64_t tag, const DiskRequest& request) override {
    run(now);
    if (admission_.admit(tag, request)) {
      enter(now, tag, request);
    }
  }

  std::optional<std::int64_t> next() const override {
    const auto finished = admission_.next();
    return finished || ready_.empty() ? finished : std::optional(whole_ns(sent(ready_.front())));
  }

  void advance(std::int64_t now, std::vector<DiskCompletion>& done) override {
    run(now);
    admission_.take(done);
  }

 private:
  struct Ready {
    double at;
    std::uint64_t tag;
    std::uint64_t order;
    std::uint32_t bytes;
  };
  static bool later(const Ready& a, const Ready& b) {
    return a.at != b.at ? a.at > b.at : a.order > b.order;
  }

  double sent(const Ready& r) const {
    return std::max(r.at, link_free_) + r.bytes * 1e9 / spec_.link_rate;
  }

  // Everything that happens up to `now`, in the order of its own times.
  void run(std::int64_t now) {
    for (;;) {
      const auto leaves = admission_.next_finish();
      const auto gets_ready = ready_.empty() ? 9.1e18 : ready_.front().at;
      if (leaves && *leaves <= now && static_cast<double>(*leaves) <= gets_ready) {
        if (const auto entering = admission_.leave()) {
          enter(*leaves, entering->tag, entering->request);
        }
      } else if (gets_ready <= static_cast<double>(now)) {
        send();
      } else {
        return;
      }
    }
  }

  void enter(std::int64_t at, std::uint64_t tag, const DiskRequest& r) {
    const double start = static_cast<double>(at) + spec_.overhead_ns;
    const std::uint64_t first = r.offset / spec_.page.n;
    const std::uint64_t pages = (r.offset + r.bytes - 1) / spec_.page.n - first + 1;
    const double page_ns = r.write ? spec_.write_ns : spec_.read_ns;
    double ready = start;
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(pages, spec_.channels); ++i) {
      double& free = channel_free_[(first + i) % spec_.channels];
      // Pages i, i + channels, i + 2 channels ... of the request are this channel's.
      const std::uint64_t share = (pages - i + spec_.channels - 1) / spec_.channels;
      free = std::max(free, start) + static_cast<double>(share) * page_ns;
      ready = std::max(ready, free);
    }
    ready_.push_back({ready, tag, order_++, r.bytes});
    std::push_heap(ready_.begin(), ready_.end(), later);
  }

  void send() {
    link_free_ = sent(ready_.front());
    admission_.finish(link_free_, ready_.front().tag);
    std::pop_heap(ready_.begin(), ready_.end(), later);
    ready_.pop_back();
  }

  FlashSpec spec_;
  Admission admission_;
  std::vector<double> channel_free_;
  std::vector<Ready> ready_;  // heap, earliest first: pages done, not on the link yet
  std::uint64_t order_ = 0;
  double link_free_ = 0;
};

}  // namespace

std::unique_ptr<DiskModel> make_flash(const FlashSpec& spec) {
  return std::make_unique<Flash>(spec);
}

}  // namespace blksweep
