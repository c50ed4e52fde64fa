#define FUSE_USE_VERSION 312
#include "disk/fuse_files.h"

#include <fmt/format.h>
#include <fuse_lowlevel.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "disk/fixed_delay.h"
#include "model/model_spec.h"

namespace blksweep {
namespace {

constexpr fuse_ino_t kData = 2;
constexpr fuse_ino_t kStats = 3;
constexpr fuse_ino_t kTiming = 4;
constexpr double kForever = 1e9;  // seconds: names and sizes never change
constexpr unsigned kBackground = 512;
constexpr unsigned kWorkers = 4;
constexpr unsigned kUnwanted =
    FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE | FUSE_CAP_AUTO_INVAL_DATA;

struct FileName {
  const char* name;
  fuse_ino_t ino;
  mode_t mode;
};
constexpr FileName kFiles[] = {{"data", kData, S_IFREG | 0600},
                               {"stats", kStats, S_IFREG | 0400},
                               {"timing", kTiming, S_IFREG | 0600}};

FuseFiles& files_of(fuse_req_t req) { return *static_cast<FuseFiles*>(fuse_req_userdata(req)); }

std::string* text_of(const fuse_file_info* info) {
  return reinterpret_cast<std::string*>(info->fh);  // NOLINT(performance-no-int-to-ptr): libfuse's
}

}  // namespace

struct FuseFiles::Session {
  fuse_session* fuse = nullptr;
  ~Session() {
    if (fuse != nullptr) {
      fuse_session_unmount(fuse);  // nothing, where it is not mounted
      fuse_session_destroy(fuse);
    }
  }
};

struct FuseFiles::Operations {
  static void init(void* /*files*/, fuse_conn_info* conn) {
    conn->max_background = kBackground;
    conn->congestion_threshold = kBackground;
    conn->max_write = kMaxMessage;
    conn->max_read = kMaxMessage;
    conn->max_readahead = kMaxMessage;
    conn->want |= conn->capable & (FUSE_CAP_ASYNC_DIO | FUSE_CAP_ASYNC_READ);
    conn->want &= ~kUnwanted;
  }

  static struct stat attributes(const FuseFiles& files, fuse_ino_t ino) {
    struct stat st {};
    st.st_ino = ino;
    st.st_nlink = 1;
    st.st_mode = S_IFDIR | 0700;
    for (const FileName& f : kFiles) {
      st.st_mode = f.ino == ino ? f.mode : st.st_mode;
    }
    st.st_size = ino == kData ? static_cast<off_t>(files.backing_.size()) : 0;
    st.st_blksize = kPageBytes;
    return st;
  }

  static void lookup(fuse_req_t req, fuse_ino_t parent, const char* name) {
    for (const FileName& f : kFiles) {
      if (parent == FUSE_ROOT_ID && std::strcmp(f.name, name) == 0) {
        fuse_entry_param entry{};
        entry.ino = f.ino;
        entry.attr = attributes(files_of(req), f.ino);
        entry.attr_timeout = entry.entry_timeout = kForever;
        fuse_reply_entry(req, &entry);
        return;
      }
    }
    fuse_reply_err(req, ENOENT);
  }

  static void getattr(fuse_req_t req, fuse_ino_t ino, fuse_file_info* /*info*/) {
    const struct stat st = attributes(files_of(req), ino);
    fuse_reply_attr(req, &st, kForever);
  }

  static void setattr(fuse_req_t req, fuse_ino_t ino, struct stat* wanted, int what,
                      fuse_file_info* info) {
    const bool resizes =
        (what & FUSE_SET_ATTR_SIZE) != 0 && ino == kData &&
        static_cast<std::uint64_t>(wanted->st_size) != files_of(req).backing_.size();
    if (resizes) {
      fuse_reply_err(req, EPERM);  // the size of a disk is given at its start
      return;
    }
    getattr(req, ino, info);
  }

  static void readdir(fuse_req_t req, fuse_ino_t ino, std::size_t size, off_t offset,
                      fuse_file_info* /*info*/) {
    if (ino != FUSE_ROOT_ID) {
      fuse_reply_err(req, ENOTDIR);
      return;
    }
    std::string out;
    for (auto i = static_cast<std::size_t>(offset); i < std::size(kFiles); ++i) {
      const struct stat st = attributes(files_of(req), kFiles[i].ino);
      const std::size_t length = fuse_add_direntry(req, nullptr, 0, kFiles[i].name, nullptr, 0);
      if (out.size() + length > size) {
        break;
      }
      out.resize(out.size() + length);
      fuse_add_direntry(req, out.data() + out.size() - length, length, kFiles[i].name, &st,
                        static_cast<off_t>(i + 1));
    }
    fuse_reply_buf(req, out.data(), out.size());
  }

  static void open(fuse_req_t req, fuse_ino_t ino, fuse_file_info* info) {
    FuseFiles& files = files_of(req);
    info->direct_io = 1;
    info->fh = 0;
    if (ino == kData) {
      files.users_.fetch_add(1);
    } else {
      const std::scoped_lock lock(files.mutex_);
      info->fh =
          ino == kTiming ? reinterpret_cast<std::uint64_t>(new std::string(files.timing_text_)) : 0;
    }
    if (ino == kStats) {
      info->fh = reinterpret_cast<std::uint64_t>(new std::string(files.stats_text()));
    }
    if (fuse_reply_open(req, info) != 0) {  // the opener was interrupted: release() will not come
      forget_open(files, ino, info);
    }
  }

  static void forget_open(FuseFiles& files, fuse_ino_t ino, const fuse_file_info* info) {
    if (ino == kData) {
      files.users_.fetch_sub(1);
    } else {
      delete text_of(info);
    }
  }

  static void release(fuse_req_t req, fuse_ino_t ino, fuse_file_info* info) {
    forget_open(files_of(req), ino, info);
    fuse_reply_err(req, 0);
  }

  static void read(fuse_req_t req, fuse_ino_t ino, std::size_t size, off_t offset,
                   fuse_file_info* info) {
    const std::int64_t arrived = now_ns();
    const auto from = static_cast<std::uint64_t>(offset);
    if (ino != kData) {
      const std::string& text = *text_of(info);
      const std::size_t begin = std::min<std::size_t>(from, text.size());
      fuse_reply_buf(req, text.data() + begin, std::min(size, text.size() - begin));
      return;
    }
    files_of(req).read_data(req, {from, static_cast<std::uint32_t>(size), false}, arrived);
  }

  static void write(fuse_req_t req, fuse_ino_t ino, const char* data, std::size_t size,
                    off_t offset, fuse_file_info* /*info*/) {
    const std::int64_t arrived = now_ns();
    FuseFiles& files = files_of(req);
    if (ino != kData) {
      const int error = offset == 0 ? files.set_timing({data, size}) : EINVAL;
      error != 0 ? fuse_reply_err(req, error) : fuse_reply_write(req, size);
      return;
    }
    const DiskRequest what{static_cast<std::uint64_t>(offset), static_cast<std::uint32_t>(size),
                           true};
    files.write_data(req, what, {reinterpret_cast<const std::byte*>(data), size}, arrived);
  }

  static void fsync(fuse_req_t req, fuse_ino_t ino, int /*data_only*/, fuse_file_info* /*info*/) {
    FuseFiles& files = files_of(req);
    const int error = ino == kData ? files.backing_.sync() : 0;
    files.failed("sync", error);
    fuse_reply_err(req, error);
  }

  static void fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t offset, off_t length,
                        fuse_file_info* /*info*/) {
    FuseFiles& files = files_of(req);
    const auto from = static_cast<std::uint64_t>(offset);
    const auto bytes = static_cast<std::uint64_t>(length);
    if (ino != kData || (mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) == 0) {
      fuse_reply_err(req, EOPNOTSUPP);
      return;
    }
    const bool inside = from <= files.backing_.size() && bytes <= files.backing_.size() - from;
    const int error = inside ? files.backing_.punch(from, bytes) : EINVAL;
    files.failed("discard", error);
    fuse_reply_err(req, error);
  }

  static constexpr fuse_lowlevel_ops table() {
    fuse_lowlevel_ops ops{};
    ops.init = init;
    ops.lookup = lookup;
    ops.getattr = getattr;
    ops.setattr = setattr;
    ops.readdir = readdir;
    ops.open = open;
    ops.release = release;
    ops.read = read;
    ops.write = write;
    ops.fsync = fsync;
    ops.fallocate = fallocate;
    return ops;
  }
};

FuseFiles::FuseFiles(Backing& backing, std::string name)
    : backing_(backing),
      name_(std::move(name)),
      started_ns_(now_ns()),
      session_(std::make_unique<Session>()),
      pacer_([this](Job& job) { reply(job); }) {}

FuseFiles::~FuseFiles() = default;

void FuseFiles::reply(Job& job) {
  auto* req = static_cast<fuse_req_t>(job.request);
  if (job.what.write) {
    fuse_reply_write(req, job.what.bytes);
  } else {
    fuse_reply_iov(req, job.pieces.iov.data(), static_cast<int>(job.pieces.iov.size()));
    backing_.give_back(std::move(job.pieces));
  }
}

// The kernel never asks for what lies behind the end, but a request decides nothing here.
void FuseFiles::read_data(fuse_req* req, DiskRequest what, std::int64_t arrived) {
  const std::uint64_t left = backing_.size() - std::min(what.offset, backing_.size());
  what.bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>({what.bytes, left, kMaxMessage}));
  if (what.bytes == 0) {
    fuse_reply_buf(req, nullptr, 0);
    return;
  }
  Job job{req, what, {}, 0};
  if (const int error = backing_.read(what.offset, what.bytes, job.pieces); error != 0) {
    backing_.give_back(std::move(job.pieces));
    failed("read", error);
    fuse_reply_err(req, error);
    return;
  }
  pacer_.submit(arrived, std::move(job));
}

void FuseFiles::write_data(fuse_req* req, const DiskRequest& what, std::span<const std::byte> data,
                           std::int64_t arrived) {
  const bool inside = what.offset <= backing_.size() && what.bytes <= backing_.size() - what.offset;
  const int error = inside ? backing_.write(what.offset, data) : EFBIG;
  if (error != 0 || data.empty()) {
    failed("write", error);
    error != 0 ? fuse_reply_err(req, error) : fuse_reply_write(req, 0);
    return;
  }
  pacer_.submit(arrived, Job{req, what, {}, 0});
}

void FuseFiles::failed(const char* what, int error) {
  if (error == 0) {
    return;
  }
  const std::scoped_lock lock(mutex_);
  last_error_ = sys_error(error, fmt::format("{} the backing", what)).value().message();
  if (++errors_ == 1) {
    warn(last_error_ + " (more are counted in stats)");
  }
}

int FuseFiles::set_timing(const std::string& text) {
  const Json j = parse_json(text);
  if (!j.is_object()) {
    return EINVAL;
  }
  const auto number = [&j](const char* key, double otherwise) {
    return j.contains(key) && j[key].is_number() ? j[key].get<double>() : otherwise;
  };
  const double speedup = number("speedup", 1);
  const auto path_ns = static_cast<std::int64_t>(number("path_ns", 0));
  std::unique_ptr<DiskModel> model;
  if (const double fixed = number("fixed_ns", 0); fixed > 0) {
    model = std::make_unique<FixedDelay>(static_cast<std::int64_t>(fixed));
  } else if (j.contains("toml") && j["toml"].is_string()) {
    const auto spec =
        parse_model(j["toml"].get<std::string>(), j.value("model", std::string("model")));
    if (!spec) {
      warn(spec.error().message());
      return EINVAL;
    }
    if (!std::holds_alternative<InstantSpec>(spec->timing)) {
      model = make_model(*spec, Bytes{backing_.size()});
    }
  }
  if (!(speedup > 0) || path_ns < 0) {
    return EINVAL;
  }
  const std::scoped_lock lock(mutex_);
  pacer_.set(std::move(model), speedup, path_ns);
  timing_text_ = text;
  path_ns_ = path_ns;
  return 0;
}

std::string FuseFiles::stats_text() const {
  Json j{{"name", name_}};
  j.update(pacer_json(pacer_.stats()));
  const std::scoped_lock lock(mutex_);
  j["errors"] = errors_;
  j["last_error"] = or_null(last_error_);
  j["backing_removed"] = backing_.is_removed();
  j["path_ns"] = path_ns_;
  j["uptime_ns"] = now_ns() - started_ns_;
  return json_text(j) + "\n";
}

void FuseFiles::end() {
  fuse_session_exit(session_->fuse);
  fuse_session_unmount(session_->fuse);
}

Result<> FuseFiles::run(const std::string& folder, const std::function<Result<>()>& ready) {
  static constexpr fuse_lowlevel_ops kOperations = Operations::table();
  const std::string options = fmt::format(
      "fsname=blksweep-{},subtype=blksweep,max_read={},nosuid,nodev,noexec", name_, kMaxMessage);
  char* argv[] = {const_cast<char*>("blksweep"), const_cast<char*>("-o"),
                  const_cast<char*>(options.c_str()), nullptr};  // copied by libfuse
  fuse_args args = FUSE_ARGS_INIT(3, argv);
  session_->fuse = fuse_session_new(&args, &kOperations, sizeof(kOperations), this);
  fuse_opt_free_args(&args);
  if (session_->fuse == nullptr || fuse_session_mount(session_->fuse, folder.c_str()) != 0) {
    return unsupported("mount a FUSE filesystem on " + folder +
                       " was refused: is /dev/fuse usable here (container, security policy)?");
  }
  BLKSWEEP_CHECK(ready());
  fuse_loop_config* config = fuse_loop_cfg_create();
  fuse_loop_cfg_set_clone_fd(config, 1);
  fuse_loop_cfg_set_max_threads(config, kWorkers);
  fuse_loop_cfg_set_idle_threads(config, kWorkers);
  const int error = fuse_session_loop_mt(session_->fuse, config);
  fuse_loop_cfg_destroy(config);
  if (error != 0) {
    return fail(fmt::format("serve FUSE requests: stopped with {}", error));
  }
  return {};
}

}  // namespace blksweep
