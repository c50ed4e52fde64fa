// Linked into every program of `make mutate`: which functions a process entered.
//
// Compiled with -fsanitize-coverage=inline-bool-flag,pc-table clang gives each block a flag and names its address
// (clang's SanitizerCoverage documentation). With $REACHED, a folder, the flags are a file there, PROGRAM.PID, shared with
// what the process forks: a process that is killed or calls _exit() has told what it entered. At the ends the flags share
// a page with other data; these few are written when the process ends by itself.
// $REACHED_PLACES, a file, gets the addresses as 64-bit numbers, from where the program is loaded: those of the flags in turn.
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr std::uintptr_t kPage = 4096;

struct Module {
  bool* flags = nullptr;
  bool* flags_end = nullptr;
  const std::uintptr_t* places = nullptr;  // pairs: address, 1 for the beginning of a function
  char file[4096] = "";                    // of the flags
};
Module module;

std::uintptr_t address(const bool* flag) { return reinterpret_cast<std::uintptr_t>(flag); }

// Adds what is set to what the file has: it may be another process's too. Flag i is byte i + (begin % kPage), so that pages
// of the file are pages of the flags. The file is not kept open: tests count what is.
void write_flags(int fd) {
  const auto at = static_cast<off_t>(address(module.flags) % kPage);
  std::vector<char> all(static_cast<std::size_t>(module.flags_end - module.flags));
  [[maybe_unused]] ssize_t moved = pread(fd, all.data(), all.size(), at);
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i] = static_cast<char>(all[i] | (module.flags[i] ? 1 : 0));
  }
  moved = pwrite(fd, all.data(), all.size(), at);
}

void share_flags() {
  const char* const folder = std::getenv("REACHED");
  if (folder == nullptr) {
    return;
  }
  std::snprintf(module.file, sizeof module.file, "%s/%s.%d", folder, program_invocation_short_name, getpid());
  const int fd = open(module.file, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) {
    return;
  }
  write_flags(fd);
  const std::uintptr_t first = address(module.flags) / kPage * kPage;
  const std::uintptr_t begin = (address(module.flags) + kPage - 1) / kPage * kPage;
  const std::uintptr_t end = address(module.flags_end) / kPage * kPage;
  if (begin < end) {
    mmap(reinterpret_cast<void*>(begin), end - begin, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, static_cast<off_t>(begin - first));
  }
  close(fd);
}

int first_object(dl_phdr_info* info, std::size_t, void* out) {
  *static_cast<std::uintptr_t*>(out) = info->dlpi_addr;
  return 1;
}

void write_places(const char* file) {
  std::uintptr_t begin = 0;
  dl_iterate_phdr(first_object, &begin);
  std::vector<std::uint64_t> places{address(module.flags) % kPage};
  for (std::ptrdiff_t i = 0; i < module.flags_end - module.flags; ++i) {
    places.push_back(module.places[2 * i + 1] == 1 ? module.places[2 * i] - begin : 0);
  }
  std::FILE* const out = std::fopen(file, "wb");
  if (out != nullptr) {
    std::fwrite(places.data(), sizeof places[0], places.size(), out);
    std::fclose(out);
  }
}

__attribute__((destructor)) void at_end() {
  if (const int fd = module.file[0] != 0 ? open(module.file, O_RDWR | O_CLOEXEC) : -1; fd >= 0) {
    write_flags(fd);
    close(fd);
  }
  if (const char* const file = std::getenv("REACHED_PLACES"); file != nullptr && module.places != nullptr) {
    write_places(file);
  }
}

}  // namespace

// Called once for each translation unit, with what all of them share.
extern "C" void __sanitizer_cov_bool_flag_init(bool* begin, bool* end) {
  if (module.flags == nullptr) {
    module.flags = begin;
    module.flags_end = end;
    share_flags();
  }
}
extern "C" void __sanitizer_cov_pcs_init(const std::uintptr_t* begin, const std::uintptr_t*) { module.places = begin; }
