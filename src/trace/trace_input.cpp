#include "trace/trace_input.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>

#include "base/fd.h"
#include "base/text.h"
#include "os/file/open_regular.h"

namespace blksweep {
namespace {

constexpr std::size_t kLookAhead = TraceInput::kLongestLine + 1;  // with its end

struct CloseArchive {
  void operator()(archive* a) const { archive_read_free(a); }
};

}  // namespace

struct TraceInput::State {
  Fd fd;
  std::string path, name;
  std::unique_ptr<archive, CloseArchive> in{archive_read_new()};
  std::vector<char> buffer = std::vector<char>(2 * kLookAhead);
  std::size_t begin = 0, end = 0;
  std::uint64_t lines = 0;
  bool ended = false;

  tl::unexpected<Error> broken(const char* what) const {
    const char* why = archive_error_string(in.get());
    return fail(fmt::format("{}: {}: {}", printable(path), what,
                            why != nullptr ? printable(why) : "no reason told"));
  }

  Result<> start(const std::function<int(archive*)>& open) {
    // Not all that the library knows: .lzma has no magic, and a trace of SCSI commands looks so.
    archive_read_support_filter_gzip(in.get());
    archive_read_support_filter_bzip2(in.get());
    archive_read_support_filter_xz(in.get());
    archive_read_support_filter_zstd(in.get());
    archive_read_support_format_tar(in.get());
    archive_read_support_format_raw(in.get());
    archive_read_support_format_empty(in.get());
    if (open(in.get()) != ARCHIVE_OK) {
      return broken("cannot be read");
    }
    return {};
  }

  // At least `wanted` bytes ahead, or all that there are.
  Result<> fill(std::size_t wanted) {
    if (end - begin >= wanted || ended) {
      return {};
    }
    std::memmove(buffer.data(), buffer.data() + begin, end - begin);
    end -= begin;
    begin = 0;
    while (end < wanted && !ended) {
      const la_ssize_t n = archive_read_data(in.get(), buffer.data() + end, buffer.size() - end);
      if (n < 0) {
        return broken("is damaged");
      }
      ended = n == 0;
      end += static_cast<std::size_t>(n);
    }
    return {};
  }

  std::string_view ahead() const { return {buffer.data() + begin, end - begin}; }
  // Of the next line; not of one that is too long, though the buffer may hold it.
  std::size_t line_end() const { return ahead().substr(0, kLookAhead).find('\n'); }
};

TraceInput::TraceInput(std::unique_ptr<State> state) : state_(std::move(state)) {}
TraceInput::TraceInput(TraceInput&&) noexcept = default;
TraceInput::~TraceInput() = default;

Result<TraceInput> TraceInput::open(const std::string& path) {
  auto state = std::make_unique<State>();
  BLKSWEEP_TRY(state->fd, open_regular(path));
  state->path = state->name = path;
  BLKSWEEP_CHECK(state->start(
      [&state](archive* a) { return archive_read_open_fd(a, state->fd.get(), kLookAhead); }));
  return TraceInput(std::move(state));
}

Result<TraceInput> TraceInput::of_bytes(std::span<const std::byte> bytes, const std::string& name) {
  auto state = std::make_unique<State>();
  state->path = state->name = name;
  BLKSWEEP_CHECK(state->start(
      [&bytes](archive* a) { return archive_read_open_memory(a, bytes.data(), bytes.size()); }));
  return TraceInput(std::move(state));
}

Result<bool> TraceInput::next_member() {
  State& s = *state_;
  for (;;) {
    archive_entry* entry = nullptr;
    const int result = archive_read_next_header(s.in.get(), &entry);
    if (result == ARCHIVE_EOF) {
      return false;
    }
    if (result != ARCHIVE_OK && result != ARCHIVE_WARN) {
      return s.broken("is damaged");
    }
    const bool raw = archive_format(s.in.get()) == ARCHIVE_FORMAT_RAW;
    if (!raw && archive_entry_filetype(entry) != AE_IFREG) {
      continue;
    }
    const char* member = archive_entry_pathname(entry);
    s.name = raw ? s.path : s.path + ":" + (member != nullptr ? member : "?");
    s.begin = s.end = 0;
    s.lines = 0;
    s.ended = false;
    return true;
  }
}

const std::string& TraceInput::name() const { return state_->name; }
std::uint64_t TraceInput::lines() const { return state_->lines; }

Result<std::string_view> TraceInput::peek(std::size_t most) {
  BLKSWEEP_CHECK(state_->fill(std::min(most, kLookAhead)));
  return state_->ahead().substr(0, most);
}

Result<bool> TraceInput::line(std::string_view& line) {
  State& s = *state_;
  std::size_t found = s.line_end();
  if (found == std::string_view::npos) {
    BLKSWEEP_CHECK(s.fill(kLookAhead));
    found = s.line_end();
  }
  if (found == std::string_view::npos && s.ahead().size() > kLongestLine) {
    return fail(fmt::format("{}:{}: a line of more than 64 KiB: is this text?", printable(s.name),
                            s.lines + 1));
  }
  if (found == std::string_view::npos && s.ahead().empty()) {
    return false;
  }
  line = s.ahead().substr(0, found);
  s.begin += std::min(line.size() + 1, s.ahead().size());
  if (!line.empty() && line.back() == '\r') {
    line.remove_suffix(1);
  }
  ++s.lines;
  return true;
}

Result<bool> TraceInput::exactly(std::span<std::byte> out) {
  State& s = *state_;
  BLKSWEEP_CHECK(s.fill(out.size()));
  if (s.ahead().empty() && !out.empty()) {
    return false;
  }
  if (s.ahead().size() < out.size()) {
    return fail(printable(s.name) + ": ends within a record");
  }
  std::memcpy(out.data(), s.ahead().data(), out.size());
  s.begin += out.size();
  return true;
}

}  // namespace blksweep
