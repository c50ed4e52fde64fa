// FuseFiles: what the daemon serves through libfuse: a folder with three files.
//
//   data     the disk; its reads and writes are timed by the Pacer
//   stats    JSON, made when it is opened
//   timing   JSON {"model", "toml", "speedup", "path_ns"}; writing one changes the timing. With
//            "fixed_ns" in place of a model each request takes that long (for calibration)
//
// Flush and fsync sync the backing file; discard punches holes. Both are replied at once: no model
// says what they cost.
//
// Errors:    run() fails when the kernel does not take the mount; what goes wrong with the backing
//            is replied as errno, counted, and named in stats.
// Threads:   run() blocks until the mount is gone; its workers are libfuse's.
// Source:    linux/fuse.h; libfuse's fuse_lowlevel.h.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "base/result.h"
#include "disk/backing.h"
#include "disk/pacer.h"

struct fuse_req;

namespace blksweep {

class FuseFiles {
 public:
  FuseFiles(Backing& backing, std::string name);
  FuseFiles(const FuseFiles&) = delete;
  FuseFiles& operator=(const FuseFiles&) = delete;
  ~FuseFiles();

  // Mounts on `folder`; `ready` is called when files can be opened (its Error ends everything).
  Result<> run(const std::string& folder, const std::function<Result<>()>& ready);
  // Whether something (the loop device) has the disk open.
  bool is_used() const { return users_.load() > 0; }
  // Unmounts, so that run() returns; for another thread.
  void end();
  std::string stats_text() const;

  struct Operations;  // libfuse's callbacks

 private:
  void reply(Job& job);
  void read_data(fuse_req* req, DiskRequest what, std::int64_t arrived);
  void write_data(fuse_req* req, const DiskRequest& what, std::span<const std::byte> data,
                  std::int64_t arrived);
  int set_timing(const std::string& text);
  void failed(const char* what, int error);
  struct Session;

  Backing& backing_;
  std::string name_;
  std::atomic<int> users_{0};
  mutable std::mutex mutex_;  // of the four below
  std::string timing_text_ = "{}";
  std::uint64_t errors_ = 0;
  std::string last_error_;
  std::int64_t path_ns_ = 0;
  std::int64_t started_ns_;
  std::unique_ptr<Session> session_;
  Pacer pacer_;  // last: its jobs are replied before the session goes
};

}  // namespace blksweep
