// A bus error that is not of our copies is what it was before they began.
#include "io/mapped_copy.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "base/fd.h"
#include "support/temp_dir.h"

namespace blksweep {
namespace {

volatile char touched_beyond;

// Ends this process, unless somebody handles it: what was mapped is cut off.
void touch_what_is_gone(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  const void* at = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd.get(), 0);
  if (at != MAP_FAILED && ::ftruncate(fd.get(), 0) == 0) {
    touched_beyond = *static_cast<const volatile char*>(at);
  }
}

void touch_beside_copies(const TempDir& dir) {
  const MappedCopies copies;
  touch_what_is_gone(dir.path("cut"));
}

void exits_with_the_address(int, siginfo_t* info, void*) {
  ::_exit(info->si_addr != nullptr ? 17 : 18);
}

class BusErrorOfOthers : public testing::Test {
 protected:
  void SetUp() override { dir_.write("cut", std::string(4096, 'x')); }
  const TempDir dir_;
};

TEST_F(BusErrorOfOthers, EndsTheProcessWhetherIgnoredOrNot) {
  for (const auto action : {SIG_DFL, SIG_IGN}) {
    EXPECT_EXIT(
        {
          ::signal(SIGBUS, action);
          touch_beside_copies(dir_);
          ::_exit(0);
        },
        testing::KilledBySignal(SIGBUS), "");
  }
}

TEST_F(BusErrorOfOthers, IsHandledAsBefore) {
  EXPECT_EXIT(
      {
        ::signal(SIGBUS, [](int number) { ::_exit(number == SIGBUS ? 16 : 18); });
        touch_beside_copies(dir_);
        ::_exit(0);
      },
      testing::ExitedWithCode(16), "");
  EXPECT_EXIT(
      {
        struct sigaction theirs {};
        theirs.sa_sigaction = exits_with_the_address;
        theirs.sa_flags = SA_SIGINFO;
        ::sigaction(SIGBUS, &theirs, nullptr);
        touch_beside_copies(dir_);
        ::_exit(0);
      },
      testing::ExitedWithCode(17), "");
}

}  // namespace
}  // namespace blksweep
