#include "dataset/tar.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/units.h"

namespace blksweep {
namespace {

// Offsets and lengths of the fields of a ustar header.
struct Field {
  std::size_t at, length;
};
constexpr Field kName{0, 100}, kMode{100, 8}, kUid{108, 8}, kGid{116, 8}, kSize{124, 12},
    kTime{136, 12}, kChecksum{148, 8}, kMagicField{257, 6}, kVersion{263, 2}, kPrefix{345, 155};
constexpr std::size_t kType = 156;
constexpr std::uint64_t kRecord = 20 * kTarBlock;  // unless tar was given another --blocking-factor
constexpr std::uint64_t kMaxExtended = 1 << 20;  // a path or pax record larger than this is damage

using Block = std::array<char, kTarBlock>;

std::string_view field(const Block& b, Field f) {
  const std::string_view raw(b.data() + f.at, f.length);
  return raw.substr(0, std::min(raw.find('\0'), raw.size()));
}

// Octal digits between spaces, or base-256 with the top bit set (GNU).
std::optional<std::uint64_t> number(const Block& b, Field f) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(b[f.at + i]); };
  std::uint64_t n = 0;
  if ((byte(0) & 0x80U) != 0) {
    for (std::size_t i = 1; i < f.length; ++i) {
      if ((n >> 55) != 0) {
        return std::nullopt;
      }
      n = n << 8 | byte(i);
    }
    return byte(0) == 0x80U ? std::optional(n) : std::nullopt;
  }
  for (const char c : field(b, f)) {
    if (c >= '0' && c <= '7') {
      n = n << 3 | static_cast<std::uint64_t>(c - '0');  // 12 digits: below 2^36
    } else if (c != ' ') {
      return std::nullopt;
    }
  }
  return n;
}

std::uint64_t checksum(const Block& b) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    const bool inside = i >= kChecksum.at && i < kChecksum.at + kChecksum.length;
    sum += inside ? static_cast<unsigned char>(' ') : static_cast<unsigned char>(b[i]);
  }
  return sum;
}

bool all_zero(const Block& b) {
  return std::ranges::all_of(b, [](char c) { return c == '\0'; });
}

std::optional<std::uint64_t> decimal(std::string_view text) {
  const auto n = parse_count(text);
  return n ? std::optional(*n) : std::nullopt;
}

// What extended headers say of the member that follows them.
struct Extended {
  std::optional<std::string> path;
  std::optional<std::uint64_t> size;
  bool sparse = false;
};

// "27 path=some/long/name\n" records; false when they do not add up.
bool parse_pax(std::string_view text, Extended& out) {
  while (!text.empty()) {
    const std::size_t space = text.find(' ');
    const auto length = decimal(text.substr(0, std::min(space, text.size())));
    if (!length || space == std::string_view::npos || *length > text.size() ||
        *length < space + 2 || text[*length - 1] != '\n') {
      return false;
    }
    const std::string_view record = text.substr(space + 1, *length - space - 2);
    text.remove_prefix(*length);
    const std::size_t equals = record.find('=');
    if (equals == std::string_view::npos) {
      return false;
    }
    const std::string_view key = record.substr(0, equals);
    const std::string_view value = record.substr(equals + 1);
    if (key == "path") {
      out.path = std::string(value);
    } else if (key == "size") {
      out.size = decimal(value);
      if (!out.size) {
        return false;
      }
    }
    out.sparse = out.sparse || key.starts_with("GNU.sparse.");
  }
  return true;
}

class Parser {
 public:
  Parser(std::uint64_t bytes, const ReadAt& read, TarLeftOut& left_out)
      : bytes_(bytes), read_(read), left_out_(left_out) {}

  Result<std::vector<TarMember>> run() {
    while (bytes_ - at_ >= kTarBlock) {
      BLKSWEEP_CHECK(read_into(at_, std::as_writable_bytes(std::span(block_))));
      if (all_zero(block_)) {
        BLKSWEEP_CHECK(look_behind_end());
        return std::move(members_);
      }
      BLKSWEEP_CHECK(take_member());
    }
    return at_ == bytes_ ? Result<std::vector<TarMember>>(std::move(members_))
                         : damaged("ends inside a header");
  }

 private:
  tl::unexpected<Error> damaged(std::string_view what) const {
    return fail(fmt::format("tar header at byte {}: {}", at_, what));
  }

  Result<> read_into(std::uint64_t offset, std::span<std::byte> out) const {
    BLKSWEEP_TRY(const std::size_t n, read_(offset, out));
    return n == out.size() ? Result<>{} : damaged("the file ends before it");
  }

  // An archive is padded to a whole record; what follows that was put there (`cat a.tar b.tar`).
  Result<> look_behind_end() {
    const std::uint64_t most = std::min(bytes_, at_ + kRecord + kTarBlock);
    for (; at_ + kTarBlock <= most && !left_out_.goes_on; at_ += kTarBlock) {
      BLKSWEEP_CHECK(read_into(at_, std::as_writable_bytes(std::span(block_))));
      left_out_.goes_on = number(block_, kChecksum) == checksum(block_) && !all_zero(block_);
    }
    return {};
  }

  Result<> take_member() {
    const auto sum = number(block_, kChecksum);
    auto size = number(block_, kSize);
    if (!sum || *sum != checksum(block_)) {
      return damaged("wrong checksum");
    }
    const char type = block_[kType];
    const bool regular = type == '0' || type == '\0' || type == '7';
    if (regular && next_.size) {
      size = next_.size;
    }
    // Links and folders may state a size that no data follows.
    const bool no_data = type >= '1' && type <= '6';
    const std::uint64_t data = no_data ? 0 : size.value_or(~std::uint64_t{0});
    if (data > bytes_ - at_ - kTarBlock) {
      return damaged("its member ends behind the end of the file");
    }
    BLKSWEEP_CHECK(take_type(type, data, regular));
    at_ = std::min(bytes_, at_ + kTarBlock + align_up(data, kTarBlock));
    return {};
  }

  Result<> take_type(char type, std::uint64_t data, bool regular) {
    if (type == 'L' || type == 'x') {
      return take_extended(type, data);
    }
    if (type == 'S' || (regular && next_.sparse)) {
      return damaged("a sparse member has no contiguous bytes (make it without --sparse)");
    }
    if (regular) {
      members_.push_back({next_.path.value_or(header_path()), at_ + kTarBlock, data});
    }
    if (type == '1' || type == '2') {
      left_out_.links.push_back(next_.path.value_or(header_path()));
    }
    if (type != 'g' && type != 'K') {
      next_ = {};
    }
    return {};
  }

  Result<> take_extended(char type, std::uint64_t data) {
    if (data > kMaxExtended) {
      return damaged("an extended header of more than 1 MiB");
    }
    std::string text(data, '\0');
    BLKSWEEP_CHECK(read_into(at_ + kTarBlock, std::as_writable_bytes(std::span(text))));
    if (type == 'L') {
      next_.path = text.substr(0, text.find('\0'));
      return {};
    }
    return parse_pax(text, next_) ? Result<>{} : damaged("pax records that do not add up");
  }

  std::string header_path() const {
    const std::string name(field(block_, kName));
    const std::string_view prefix = field(block_, kPrefix);
    const bool ustar =
        std::string_view(block_.data() + kMagicField.at, 6) == std::string_view("ustar\0", 6);
    return ustar && !prefix.empty() ? std::string(prefix) + "/" + name : name;
  }

  std::uint64_t bytes_;
  const ReadAt& read_;
  TarLeftOut& left_out_;
  std::uint64_t at_ = 0;
  Block block_{};
  Extended next_;
  std::vector<TarMember> members_;
};

void put(std::string& block, Field f, std::string_view text) {
  assert(text.size() <= f.length);
  block.replace(f.at, text.size(), text);
}

}  // namespace

Result<std::vector<TarMember>> read_tar(std::uint64_t archive_bytes, const ReadAt& read,
                                        TarLeftOut* left_out) {
  TarLeftOut nobodys;
  return Parser(archive_bytes, read, left_out != nullptr ? *left_out : nobodys).run();
}

namespace {

std::string header_of(const std::string& path, std::uint64_t size, char type) {
  std::string block(kTarBlock, '\0');
  put(block, kName, path);
  put(block, kMode, "0000644");
  put(block, kUid, "0000000");
  put(block, kGid, "0000000");
  put(block, kSize, fmt::format("{:011o}", size));
  put(block, kTime, fmt::format("{:011o}", 0));
  block[kType] = type;
  put(block, kMagicField, std::string_view("ustar\0", 6));
  put(block, kVersion, "00");
  Block sum{};
  std::memcpy(sum.data(), block.data(), block.size());
  put(block, kChecksum, std::string(fmt::format("{:06o}", checksum(sum))) + '\0' + ' ');
  return block;
}

}  // namespace

std::string tar_header(const std::string& path, std::uint64_t size) {
  return header_of(path, size, '0');
}

std::string tar_long_header(const std::string& path, std::uint64_t size) {
  if (path.size() < kName.length) {
    return tar_header(path, size);
  }
  std::string name = path + '\0';
  std::string head = header_of("././@LongLink", name.size(), 'L');
  name.resize(align_up(name.size(), kTarBlock));
  return head + name + tar_header(path.substr(0, kName.length), size);
}

}  // namespace blksweep
