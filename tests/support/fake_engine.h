// FakeEngine: reads of a synthetic catalog that end as a test wishes: short, late, failed.
//
// What a read brings is decided when it is submitted, by the file that its slot holds then (found
// by the descriptor's name, so a wrong slot brings wrong bytes); its bytes are written only when it
// is reaped, so a buffer that is used again too early is seen. Completions come in random order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "io/engine.h"
#include "plan/plan.h"
#include "support/synthetic_catalog.h"

namespace blksweep::support {

class FakeEngine final : public Engine {
 public:
  struct Asked {
    std::uint32_t source;  // file or kFromDevice
    std::uint64_t offset;
    std::uint32_t length;
  };
  // Bytes to deliver (never more than there are) or -errno.
  std::function<std::int32_t(const Asked&)> outcome = [](const Asked& a) {
    return static_cast<std::int32_t>(a.length);
  };
  std::function<void(const Asked&)> on_submit = [](const Asked&) {};
  // A submission as a whole, and which tags are done once `wait_for` are, `most` at most: in place
  // of any order.
  std::function<void(std::span<const ReadRequest>, std::span<const Asked>)> on_group;
  std::function<std::vector<std::uint32_t>(std::size_t wait_for, std::size_t most)> completes;
  std::map<std::uint32_t, std::uint64_t> shorter;  // file -> its real size
  std::uint32_t align = 1;                         // as O_DIRECT asks it
  std::size_t most_in_flight = 0;
  std::vector<std::size_t> groups;  // sizes of submit() calls
  std::string wrong;                // what a caller did that no engine would forgive

  FakeEngine(const SyntheticCatalog& data, unsigned slots, std::uint64_t seed)
      : data_(data), catalog_(data.view()), slots_(slots, kNothing), rng_(seed) {
    for (std::uint32_t f = 0; f < catalog_.files.size(); ++f) {
      by_path_.emplace(catalog_.path(f), f);
    }
    facts_.name = "fake";
  }

  const EngineFacts& facts() const override { return facts_; }
  std::size_t in_flight() const { return flights_.size(); }

  Result<> set_files(std::uint32_t first_slot, std::span<Fd> fds) override {
    for (std::size_t i = 0; i < fds.size(); ++i) {
      slots_.at(first_slot + i) = fds[i] ? source_of(fds[i].get()) : kNothing;
      fds[i].reset();
    }
    return {};
  }

  Result<> submit(std::span<const ReadRequest> batch) override {
    groups.push_back(batch.size());
    std::vector<Asked> all;
    for (const ReadRequest& r : batch) {
      const Asked asked{slots_.at(r.slot), r.offset, length_of(r)};
      on_submit(asked);
      all.push_back(asked);
      if (std::ranges::any_of(flights_, [&](const Flight& f) { return f.request.tag == r.tag; })) {
        wrong += "a tag twice in flight; ";
      }
      flights_.push_back({r, asked.source, result_of(asked)});
    }
    most_in_flight = std::max(most_in_flight, flights_.size());
    if (on_group) {
      on_group(batch, all);
    }
    return {};
  }

  Result<std::size_t> reap(std::span<Completion> out, std::size_t wait_for,
                           std::int64_t /*until*/) override {
    if (wait_for > flights_.size()) {
      wrong += "waits for more than is in flight; ";
    }
    if (completes) {
      return reap_tags(out, completes(wait_for, out.size()));
    }
    const std::size_t most = std::min(out.size(), flights_.size());
    const std::size_t n = std::min(most, wait_for + rng_.below(3));
    for (std::size_t i = 0; i < n; ++i) {
      std::swap(flights_[rng_.below(flights_.size())], flights_.back());
      deliver(flights_.back());
      out[i] = {flights_.back().request.tag, flights_.back().result};
      flights_.pop_back();
    }
    return n;
  }

  static std::byte byte_of(std::uint64_t word) { return static_cast<std::byte>(word >> 8 & 0xFF); }

 private:
  static constexpr std::uint32_t kNothing = 0xFFFFFFF0;
  struct Flight {
    ReadRequest request;
    std::uint32_t source;
    std::int32_t result;
  };

  std::size_t reap_tags(std::span<Completion> out, const std::vector<std::uint32_t>& tags) {
    for (std::size_t i = 0; i < tags.size(); ++i) {
      const auto done = std::ranges::find(flights_, tags[i], [](auto& f) { return f.request.tag; });
      deliver(*done);
      out[i] = {tags[i], done->result};
      flights_.erase(done);
    }
    return tags.size();
  }

  std::uint32_t source_of(int fd) const {
    const std::filesystem::path link = "/proc/self/fd/" + std::to_string(fd);
    const std::string name = std::filesystem::read_symlink(link).string();
    for (std::size_t slash = name.rfind('/'); slash != std::string::npos && slash > 0;
         slash = name.rfind('/', slash - 1)) {
      if (const auto found = by_path_.find(name.substr(slash + 1)); found != by_path_.end()) {
        return found->second;
      }
    }
    return kFromDevice;
  }

  static std::uint32_t length_of(const ReadRequest& r) {
    std::size_t sum = 0;
    for (std::uint32_t i = 0; i < r.iov_count; ++i) {
      sum += r.iov[i].iov_len;
    }
    return static_cast<std::uint32_t>(sum);
  }

  std::int32_t result_of(const Asked& a) {
    if (a.offset % align != 0 || a.length % align != 0) {
      wrong += "an unaligned read; ";
    }
    if (a.source == kNothing) {
      return -EBADF;
    }
    std::uint64_t there = a.length;
    if (a.source != kFromDevice) {
      const auto real = shorter.find(a.source);
      const std::uint64_t size =
          real != shorter.end() ? real->second : catalog_.files[a.source].size;
      there = a.offset >= size ? 0 : std::min<std::uint64_t>(there, size - a.offset);
    }
    return std::min(static_cast<std::int32_t>(there), outcome(a));
  }

  void deliver(const Flight& f) const {
    std::uint64_t at = f.request.offset;
    const std::uint64_t end = at + static_cast<std::uint64_t>(std::max(0, f.result));
    std::vector<std::uint64_t> words(end - at);
    if (f.source == kFromDevice) {
      SyntheticCatalog::device_words(at, words);
    } else {
      data_.file_words(f.source, at, words);
    }
    const std::uint64_t* word = words.data();
    for (std::uint32_t i = 0; i < f.request.iov_count && at < end; ++i) {
      auto* to = static_cast<std::byte*>(f.request.iov[i].iov_base);
      for (std::size_t n = 0; n < f.request.iov[i].iov_len && at < end; ++n, ++at) {
        to[n] = byte_of(*word++);
      }
    }
  }

  const SyntheticCatalog& data_;
  const Catalog catalog_;
  std::vector<std::uint32_t> slots_;
  std::map<std::string, std::uint32_t, std::less<>> by_path_;
  std::vector<Flight> flights_;
  EngineFacts facts_;
  Rng rng_;
};

}  // namespace blksweep::support
