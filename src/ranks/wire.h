// Links between keepers: small messages over TCP, each with the token of the job.
//
// Errors:    a peer that is gone, or sends what is no message of the job, is a closed link.
// Ownership: a Link owns its socket; nothing is left behind by its end.
// Threads:   one owner. send() waits for at most a second.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "ranks/board.h"
#include "ranks/row.h"

namespace blksweep {

struct RankMessage {
  enum class Kind : std::uint32_t {
    row,    // to the hub: how far the rank is; the first one says who it is
    lost,   // to the hub: the rank has ended; text: how
    last,   // to the hub: the row of a rank that was ended
    told,   // to the hub: the same, by a signal to its keeper
    heard,  // from the hub, for each row
    end,    // from the hub: end yours; text: why
    bye,    // from the hub: everything is stored
  };
  std::array<std::uint64_t, 2> token{};
  Kind kind = Kind::row;
  std::uint32_t rank = 0;
  RankRow row;
  std::array<char, 256> text{};
};

class Link {
 public:
  explicit Link(Fd fd) : fd_(std::move(fd)) {}
  int fd() const { return fd_.get(); }
  bool closed() const { return !fd_; }
  void close() { fd_.reset(); }
  // False: nobody hears it any more, and the link is closed.
  bool send(const RankMessage& message);
  // What has come so far, without waiting.
  std::optional<RankMessage> receive();

 private:
  Fd fd_;
  std::vector<char> pending_;
};

// A socket that listens at all addresses of this node; its port and the addresses in `place`.
Result<Fd> listen_as_hub(HubPlace& place);
Result<Link> connect_to_hub(const HubPlace& place);
// Somebody who connected; nothing: nobody did.
std::optional<Link> accept_link(int listener);

}  // namespace blksweep
