// ReplayTarget: what a trace is replayed onto, and where on it a record's bytes are.
//
// Errors:  usage for a target of the other kind than the trace; as open(2).
// Threads: open() anywhere; place() on one thread, the rest on another.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "os/block/blockdev.h"
#include "replay/request.h"
#include "replay/survey.h"
#include "replay/target_files.h"

namespace blksweep {

class AddressMap;
struct ReplaySettings;

inline constexpr std::uint64_t kLargestReplayed = 64U << 20;  // bytes of a read

class ReplayTarget {
 public:
  static Result<ReplayTarget> open(TraceKind kind, const ReplaySettings& settings,
                                   const TraceSurvey& survey);
  ReplayTarget(ReplayTarget&&) noexcept;
  ~ReplayTarget();

  // nullptr and a request, or why there is none.
  const char* place(const TraceRecord& record, ReplayRequest& request);

  TargetFiles& files() { return *files_; }
  unsigned depth() const { return depth_; }
  std::uint32_t align() const { return align_; }
  const std::string& disk() const { return disk_; }
  const BlockDevice& device() const { return device_; }  // of a block trace
  std::uint64_t rounded() const { return rounded_; }     // once place() is called no more
  // Bytes of the largest request that place() may give.
  std::uint64_t largest(const TraceSurvey& survey) const;

 private:
  ReplayTarget() = default;
  Result<> open_device(const ReplaySettings& settings, const TraceSurvey& survey);
  Result<> open_folder(const ReplaySettings& settings, const TraceSurvey& survey);
  const char* place_in_file(const TraceRecord& record, ReplayRequest& request) const;

  std::optional<TargetFiles> files_;
  std::unique_ptr<AddressMap> map_;  // of a device
  unsigned depth_ = 0;
  std::uint32_t align_ = 1;
  std::uint64_t rounded_ = 0;
  std::string disk_;
  BlockDevice device_;
};

}  // namespace blksweep
