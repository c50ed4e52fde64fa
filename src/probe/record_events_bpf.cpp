#include "probe/record_events.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/rng.h"
#include "probe/kernel_clock_bpf.h"
#include "probe/libbpf_words.h"
#include "probe/program_runs_bpf.h"
#include "probe/refused.h"
#include "wire/record.h"

#include "block_record.skel.h"
#include "file_record.skel.h"

namespace blksweep {
namespace {

tl::unexpected<Error> not_recorded(const char* what, int errnum) {
  return refused_by_bpf(what, errnum, LibbpfWords::last(),
                        "recording needs BPF with BTF, Linux 5.17 or later");
}

// A loaded skeleton with a ring; all of its programs are attached together.
template <class Skeleton, Skeleton* (*kOpen)(), int (*kLoad)(Skeleton*), int (*kAttach)(Skeleton*),
          void (*kDetach)(Skeleton*), void (*kDestroy)(Skeleton*)>
class Programs {
 public:
  Programs() : skeleton_(kOpen()) {}
  Programs(const Programs&) = delete;
  Programs& operator=(const Programs&) = delete;
  ~Programs() {
    ring_buffer__free(ring_);
    if (skeleton_ != nullptr) {
      kDestroy(skeleton_);
    }
  }

  Skeleton* operator->() const { return skeleton_; }
  Skeleton* get() const { return skeleton_; }

  Result<> load(Bytes ring, ring_buffer_sample_fn listener, void* context) {
    bpf_map__set_max_entries(skeleton_->maps.ring, static_cast<__u32>(ring.n));
    if (const int err = kLoad(skeleton_); err != 0) {
      return not_recorded("load the recorder", -err);
    }
    if (skeleton_->bss == nullptr) {  // libbpf goes on without where its own trial of it failed
      return not_recorded("map the recorder's memory", ENOMEM);
    }
    ring_ = ring_buffer__new(bpf_map__fd(skeleton_->maps.ring), listener, context, nullptr);
    return ring_ != nullptr ? Result<>() : Result<>(not_recorded("map the recorder's ring", errno));
  }
  Result<> attach() {
    const int err = kAttach(skeleton_);
    return err == 0 ? Result<>() : Result<>(not_recorded("attach the recorder", -err));
  }
  void detach() { kDetach(skeleton_); }
  // Events that the kernel did not tell: it skips a program that is running on the same CPU.
  std::uint64_t missed() const { return missed_runs(skeleton_->obj); }
  Result<> consume() {
    const int n = ring_buffer__consume(ring_);
    return n >= 0 ? Result<>() : Result<>(sys_error(-n, "read the recorder's ring"));
  }

 private:
  Skeleton* skeleton_;
  ring_buffer* ring_ = nullptr;
};

using BlockPrograms = Programs<block_record, block_record__open, block_record__load,
                               block_record__attach, block_record__detach, block_record__destroy>;
using FilePrograms = Programs<file_record, file_record__open, file_record__load,
                              file_record__attach, file_record__detach, file_record__destroy>;

constexpr std::uint64_t kNoSector = ~std::uint64_t{0};  // flushes, commands of SCSI

// enum req_op (Linux include/linux/blk_types.h), which has not changed since 4.8.
BlockEvent::Op op_of(std::uint32_t op) {
  switch (op) {
    case 0:
      return BlockEvent::Op::read;
    case 1:
    case 9:  // zeros
      return BlockEvent::Op::write;
    case 2:
      return BlockEvent::Op::flush;
    case 3:
    case 5:  // secure erase
      return BlockEvent::Op::discard;
    default:
      return BlockEvent::Op::other;
  }
}

class BpfBlockRecorder final : public Recorder {
 public:
  explicit BpfBlockRecorder(std::function<void(const BlockEvent&)> listener)
      : listener_(std::move(listener)) {}

  Result<> load(dev_t disk, Bytes ring) {
    if (programs_.get() == nullptr) {
      return not_recorded("open the recorder", errno);
    }
    programs_->rodata->disk_major = static_cast<int>(major(disk));
    programs_->rodata->disk_minor = static_cast<int>(minor(disk));
    return programs_.load(ring, on_event, this);
  }
  Result<> start() override {
    BLKSWEEP_CHECK(programs_.attach());
    __atomic_store_n(&programs_->bss->enabled, 1U, __ATOMIC_SEQ_CST);  // all or none
    return {};
  }
  Result<> drain() override { return programs_.consume(); }
  void stop() override {
    __atomic_store_n(&programs_->bss->enabled, 0U, __ATOMIC_SEQ_CST);
    programs_.detach();
  }
  std::uint64_t lost() const override { return programs_->bss->lost + programs_.missed(); }

 private:
  static int on_event(void* self, void* data, std::size_t /*bytes*/) {
    const auto& e = *static_cast<const record_block*>(data);
    BlockEvent out;
    out.kind = e.kind == RECORD_ISSUE      ? BlockEvent::Kind::issue
               : e.kind == RECORD_COMPLETE ? BlockEvent::Kind::complete
                                           : BlockEvent::Kind::requeue;
    out.op = op_of(e.op);
    out.flags = static_cast<std::uint16_t>(e.flags);
    out.at_ns = static_cast<std::int64_t>(e.at_ns);
    out.offset = e.sector == kNoSector ? 0 : e.sector * kSectorBytes;
    out.bytes = e.bytes;
    out.thread = e.thread;
    static_cast<BpfBlockRecorder*>(self)->listener_(out);
    return 0;
  }

  const LibbpfWords words_;
  const std::function<void(const BlockEvent&)> listener_;
  BlockPrograms programs_;
};

// The names come from the last one up.
std::string path_of(const record_path& p) {
  std::vector<std::string_view> names;
  const std::string_view all(p.names, std::min(p.bytes, RECORD_PATH_BYTES));
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = std::min(all.find('\0', at), all.size());
    names.push_back(all.substr(at, end - at));
    at = end + 1;
  }
  std::ranges::reverse(names);
  std::string path;
  for (const std::string_view name : names) {
    path += '/';
    path += name;
  }
  return path;
}

class BpfFileRecorder final : public FileRecorder {
 public:
  explicit BpfFileRecorder(FileListener listener) : listener_(std::move(listener)) {}

  Result<> load(Bytes ring) {
    if (programs_.get() == nullptr) {
      return not_recorded("open the recorder", errno);
    }
    Rng rng(static_cast<std::uint64_t>(now_ns()) ^ static_cast<std::uint64_t>(::getpid()));
    mark_ = rng.next() | (std::uint64_t{1} << 63);  // no option of prctl(2)
    auto& set = *programs_->rodata;
    set.nr_read = SYS_read;
    set.nr_pread64 = SYS_pread64;
    set.nr_readv = SYS_readv;
    set.nr_preadv = SYS_preadv;
    set.nr_preadv2 = SYS_preadv2;
    set.nr_prctl = SYS_prctl;
#ifdef SYS_open  // not on arm64
    set.nr_open = SYS_open;
#endif
    set.nr_openat = SYS_openat;
    set.nr_openat2 = SYS_openat2;
    set.nr_sendfile = SYS_sendfile;
    set.nr_splice = SYS_splice;
    set.nr_copy_file_range = SYS_copy_file_range;
    set.nr_io_submit = SYS_io_submit;
    set.nr_mmap = SYS_mmap;
    set.nr_mlock = SYS_mlock;
    set.nr_mlock2 = SYS_mlock2;
    set.nr_mlockall = SYS_mlockall;
    set.nr_madvise = SYS_madvise;
    set.nr_write = SYS_write;
    set.nr_pwrite64 = SYS_pwrite64;
    set.direct_flag = O_DIRECT;
    set.mark = mark_;
    set.page_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    BLKSWEEP_CHECK(choose());
    return programs_.load(ring, on_event, this);
  }
  Result<> start() override { return programs_.attach(); }
  Result<> drain() override { return programs_.consume(); }
  void stop() override { programs_.detach(); }
  std::uint64_t lost() const override { return programs_->bss->lost + programs_->bss->calls_lost; }
  void join() const override { ::syscall(SYS_prctl, mark_, 0, 0, 0, 0); }
  const std::string& without() const override { return without_; }
  std::uint64_t faults_unseen() const override { return programs_->bss->faults_unseen; }
  std::uint64_t calls_unseen() const override { return programs_->bss->calls_unseen; }

 private:
  // By what the kernel's BTF has, never by its version.
  Result<> choose() {
    btf* kernel = btf__load_vmlinux_btf();
    if (kernel == nullptr) {
      return not_recorded("read the kernel's BTF", errno);
    }
    const auto has = [&](const char* tracepoint) {
      const std::string name = fmt::format("btf_trace_{}", tracepoint);
      return btf__find_by_name_kind(kernel, name.c_str(), BTF_KIND_TYPEDEF) > 0;
    };
    const bool submits = has("io_uring_submit_req"), faults = has("page_fault_user");
    const bool kernel_faults = has("page_fault_kernel");
    const bool cqe = complete_tells_cqe(kernel);
    btf__free(kernel);
    auto& programs = programs_->progs;
    bpf_program__set_autoload(programs.on_uring_submit, submits);
    bpf_program__set_autoload(programs.on_uring_cqe, submits && cqe);
    bpf_program__set_autoload(programs.on_uring_result, submits && !cqe);
    bpf_program__set_autoload(programs.on_fault, faults);
    bpf_program__set_autoload(programs.on_kernel_fault, kernel_faults);
    without_ = std::string(submits ? "" : "reads through io_uring are not told by this kernel") +
               (submits || faults ? "" : "; ") +
               (faults ? "" : "reads of mappings are not told by this kernel");
    return {};
  }
  // (data, ring, request, cqe) since 6.10; more arguments before.
  static bool complete_tells_cqe(const btf* kernel) {
    const int id = btf__find_by_name_kind(kernel, "btf_trace_io_uring_complete", BTF_KIND_TYPEDEF);
    const btf_type* type = id > 0 ? btf__type_by_id(kernel, static_cast<__u32>(id)) : nullptr;
    for (; type != nullptr && (btf_is_typedef(type) || btf_is_ptr(type));
         type = btf__type_by_id(kernel, type->type)) {
    }
    return type != nullptr && btf_is_func_proto(type) && btf_vlen(type) == 4;
  }

  static int on_event(void* self, void* data, std::size_t /*bytes*/) {
    const auto& listener = static_cast<BpfFileRecorder*>(self)->listener_;
    if (*static_cast<const __u32*>(data) == RECORD_PATH) {
      const auto& p = *static_cast<const record_path*>(data);
      listener.path(p.file, path_of(p));
      return 0;
    }
    const auto& e = *static_cast<const record_read*>(data);
    listener.read({static_cast<FileRead::Form>(e.form), e.flags, e.file,
                   static_cast<std::int64_t>(e.at_ns), e.latency_ns, e.offset, e.bytes, e.returned,
                   e.thread});
    return 0;
  }

  const LibbpfWords words_;
  const FileListener listener_;
  FilePrograms programs_;
  std::uint64_t mark_ = 0;
  std::string without_;
};

}  // namespace

Result<std::unique_ptr<Recorder>> open_block_recorder(
    dev_t whole_disk, Bytes ring, std::function<void(const BlockEvent&)> listener) {
  BLKSWEEP_CHECK(check_kernel_clock("recording"));
  auto recorder = std::make_unique<BpfBlockRecorder>(std::move(listener));
  BLKSWEEP_CHECK(recorder->load(whole_disk, ring));
  return std::unique_ptr<Recorder>(std::move(recorder));
}

Result<std::unique_ptr<FileRecorder>> open_file_recorder(Bytes ring, FileListener listener) {
  BLKSWEEP_CHECK(check_kernel_clock("recording"));
  auto recorder = std::make_unique<BpfFileRecorder>(std::move(listener));
  BLKSWEEP_CHECK(recorder->load(ring));
  return std::unique_ptr<FileRecorder>(std::move(recorder));
}

}  // namespace blksweep
