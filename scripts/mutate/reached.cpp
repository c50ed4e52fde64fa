// Linked into every program of `make mutate`: which functions a process entered, written down when it ends.
//
// Compiled with -fsanitize-coverage=inline-bool-flag,pc-table clang gives each function a flag and names its address
// (clang's SanitizerCoverage documentation). A file for each process in the folder that $REACHED names: the addresses as
// 64-bit numbers, from where the program is loaded. A process that is killed, or calls _exit(), leaves none.
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

struct Module {
  const bool* flags = nullptr;
  const bool* flags_end = nullptr;
  const std::uintptr_t* places = nullptr;  // pairs: address, 1 for the beginning of a function
};
Module module;

struct Loaded {
  std::uintptr_t begin = 0, end = 0;
};

int first_object(dl_phdr_info* info, std::size_t, void* out) {
  auto* const loaded = static_cast<Loaded*>(out);
  loaded->begin = info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& header = info->dlpi_phdr[i];
    if (header.p_type == PT_LOAD) {
      loaded->end = info->dlpi_addr + header.p_vaddr + header.p_memsz;
    }
  }
  return 1;
}

__attribute__((destructor)) void write_down() {
  const char* const folder = std::getenv("REACHED");
  if (folder == nullptr || module.flags == nullptr || module.places == nullptr) {
    return;
  }
  Loaded loaded;
  dl_iterate_phdr(first_object, &loaded);
  std::vector<std::uint64_t> entered;
  for (std::ptrdiff_t i = 0; i < module.flags_end - module.flags; ++i) {
    const std::uintptr_t place = module.places[2 * i];
    if (module.flags[i] && module.places[2 * i + 1] == 1 && place >= loaded.begin && place < loaded.end) {
      entered.push_back(place - loaded.begin);
    }
  }
  char name[4096];
  std::snprintf(name, sizeof name, "%s/%d", folder, getpid());
  const int fd = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd >= 0) {
    [[maybe_unused]] const ssize_t written = write(fd, entered.data(), entered.size() * sizeof entered[0]);
    close(fd);
  }
}

}  // namespace

// Called once for each translation unit, with what all of them share.
extern "C" void __sanitizer_cov_bool_flag_init(bool* begin, bool* end) {
  module.flags = begin;
  module.flags_end = end;
}
extern "C" void __sanitizer_cov_pcs_init(const std::uintptr_t* begin, const std::uintptr_t*) { module.places = begin; }
