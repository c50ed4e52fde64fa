// Taking down disks that were set up for an experiment: an emulated one, an image behind a loop
// device, a device that was mounted. What is there is asked of the kernel, not of the journal.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "base/units.h"
#include "disk/disk.h"
#include "disk/image.h"
#include "disk/loop_device.h"
#include "disk/unmount_patiently.h"
#include "node/journal/undo.h"

namespace blksweep {
namespace {

std::string outcome(const std::string& done, const std::vector<std::string>& warnings) {
  return warnings.empty() ? done : fmt::format("{} ({})", done, joined(warnings, "; "));
}

// What a start that was killed had added and not come to use.
void remove_number(const std::string& text) {
  if (const auto number = parse_count(text)) {
    remove_own_loop(fmt::format("loop{}", *number));
  }
}

Result<std::string> undo_emulated(const Loan& loan) {
  const Registry registry;
  if (!registry.exists(loan.path)) {
    return std::string("is gone");
  }
  BLKSWEEP_TRY(const DiskEnd end, stop_disk(registry, loan.path, /*force=*/true));
  return outcome("stopped", end.warnings);
}

Result<std::string> undo_image(const Loan& loan) {
  BLKSWEEP_TRY(const ImageEnd end, stop_image(loan.path));
  return end.was_up ? outcome("unmounted and detached", end.warnings) : std::string("is gone");
}

Result<std::string> undo_mount(const Loan& loan) {
  std::string done = "is gone";
  struct stat st {};
  if (::stat(loan.text.c_str(), &st) != 0) {
    return errno == ENOENT ? Result<std::string>(done) : sys_error(errno, "look at " + loan.text);
  }
  BLKSWEEP_TRY(const std::vector<MountFacts> all, read_mounts());
  for (const MountFacts& mount : all) {
    if (mount.mount_point == loan.path && is_mount_of(mount, st.st_rdev, loan.text)) {
      BLKSWEEP_TRY(const std::vector<std::string> warnings, unmount_or_detach(mount));
      done = outcome("unmounted", warnings);
    }
  }
  return done;
}

}  // namespace

bool is_disk_loan(LoanKind kind) {
  return kind == LoanKind::disk || kind == LoanKind::image || kind == LoanKind::mount;
}

bool check_disk_loan(const Loan& loan) {
  switch (loan.kind) {
    case LoanKind::disk:
      return check_disk_name(loan.path).has_value();
    case LoanKind::image:
      return loan.path.starts_with('/') && loan.path.ends_with(kImageEnding);
    case LoanKind::mount:
      return loan.path.starts_with('/') && loan.text.starts_with("/dev/");
    default:
      return false;
  }
}

Result<std::string> undo_disk(const Loan& loan) {
  if (loan.kind == LoanKind::mount) {
    return undo_mount(loan);
  }
  Result<std::string> undone = loan.kind == LoanKind::disk ? undo_emulated(loan) : undo_image(loan);
  remove_number(loan.text);
  return undone;
}

}  // namespace blksweep
