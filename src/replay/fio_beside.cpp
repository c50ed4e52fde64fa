#include "replay/fio_beside.h"

#include <fcntl.h>
#include <fmt/format.h>

#include "os/file/file.h"
#include "os/file/private_folder.h"
#include "os/process/process.h"
#include "trace/fio_program.h"

namespace blksweep {
namespace {

std::string iolog_of(std::span<const DueRead> reads, const FioReplaySettings& s) {
  std::string text = fmt::format("fio version 3 iolog\n0 {0} add\n0 {0} open\n", s.device);
  std::int64_t at_us = 0;
  for (const DueRead& r : reads) {
    at_us = r.due_ns / 1000;
    text +=
        fmt::format("{} {} read {} {}\n", at_us, s.device, r.offset - s.partition_start, r.bytes);
  }
  text += fmt::format("{} {} close\n", at_us, s.device);
  return text;
}

std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of("\n ");
  const std::size_t begin = end == std::string::npos ? end : text.rfind('\n', end);
  return end == std::string::npos ? "nothing" : text.substr(begin + 1, end - begin);
}

}  // namespace

Result<FioReplay> replay_by_fio(std::span<const DueRead> reads, const FioReplaySettings& settings,
                                const std::atomic<bool>& stop) {
  FioReplay out;
  BLKSWEEP_TRY(out.version, fio_version());
  BLKSWEEP_TRY(const PrivateFolder folder, PrivateFolder::make("fio-replay", ""));
  const std::string log = folder.path() + "/reads.log";
  const Fd fd(::open(log.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  const std::string text = iolog_of(reads, settings);
  BLKSWEEP_CHECK(write_full(fd.get(), std::as_bytes(std::span(text)), log));
  BLKSWEEP_TRY(const auto watch, DriverWatch::begin(settings.whole_disk));
  BLKSWEEP_TRY(const ProcessResult fio,
               run_process({.argv = {"fio", "--name=replay", "--readonly", "--eta=never",
                                     "--direct=1", "--ioengine=io_uring", "--read_iolog=" + log,
                                     fmt::format("--iodepth={}", settings.depth)},
                            .directory = folder.path(),
                            .interrupt = &stop}));
  if (fio.interrupted) {
    return fail("interrupted", Exit::interrupted);
  }
  if (!fio.ok()) {
    return fail("fio's replay failed: " + last_line(fio.err.empty() ? fio.out : fio.err));
  }
  BLKSWEEP_TRY(out.lateness, watch->end(reads));
  return out;
}

}  // namespace blksweep
