#include "io/read_list.h"

namespace blksweep {

Result<std::unique_ptr<Engine>> make_engine_on(Fd file, EngineKind kind, unsigned depth,
                                               std::span<std::byte> arena) {
  BLKSWEEP_TRY(auto engine, make_engine(kind, {.depth = depth, .file_slots = 1, .arena = arena}));
  BLKSWEEP_CHECK(engine->set_files(0, {&file, 1}));
  return engine;
}

ReadList::ReadList(std::span<const ByteRange> reads, std::span<std::byte> memory,
                   std::span<iovec> iov, std::int64_t until)
    : reads_(reads), memory_(memory), iov_(iov), until_(until), read_of_(iov.size()) {}

ReadSource::Next ReadList::next(std::uint32_t tag, WantedRead& wanted) {
  if (!more()) {
    return Next::end;
  }
  const ByteRange& read = reads_[next_];
  const std::int64_t pause = pause_before(next_);
  wanted = {read.begin, static_cast<std::uint32_t>(read.bytes()), pause > 0 ? now_ + pause : 0};
  read_of_[tag] = next_++;
  return Next::request;
}

ReadAim ReadList::aim(std::uint32_t tag, std::uint32_t done) {
  const std::size_t place = memory_.size() / iov_.size();
  iov_[tag] = {memory_.data() + place * tag + done, reads_[read_of_[tag]].bytes() - done};
  return {0, {&iov_[tag], 1}};
}

void ReadList::settle(std::int64_t now) {
  now_ = now;
  over_ = over_ || now >= until_;
}

}  // namespace blksweep
