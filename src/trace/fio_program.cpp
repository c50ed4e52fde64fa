#include "trace/fio_program.h"

#include <cerrno>
#include <chrono>

#include "os/process/process.h"

namespace blksweep {
namespace {

constexpr const char* kNotInstalled =
    "fio is not installed: apt-get install fio; the run goes on without a twin";

}  // namespace

Result<std::string> fio_version() {
  ProcessSpec spec;
  spec.argv = {"fio", "--version"};
  spec.timeout = std::chrono::seconds(30);
  Result<ProcessResult> r = run_process(spec);
  if (!r && r.error().sys_errno == ENOENT) {
    return unsupported(kNotInstalled);
  }
  if (!r) {
    return fail(r.error().text);
  }
  if (!r->ok()) {
    return fail("fio --version fails: " + r->err);
  }
  return r->out.substr(0, r->out.find('\n'));
}

}  // namespace blksweep
