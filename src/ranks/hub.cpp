#include "ranks/hub.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>

#include "base/clock.h"

namespace blksweep {
namespace {

constexpr std::int64_t kHubStandstillNs =
    1'000'000'000;                              // of ourselves: nobody was heard meanwhile
constexpr std::int64_t kStillNs = 800'000'000;  // without a CPU; rows come ten times a second

bool is_over(RankState state) { return state == RankState::done || state == RankState::failed; }

}  // namespace

Hub::Hub(Fd listener, const RankPlace& place, const HubSettings& settings)
    : listener_(std::move(listener)),
      place_(place),
      settings_(settings),
      rows_(place.ranks),
      paces_(place.ranks) {
  for (std::uint32_t i = 0; i < place.ranks; ++i) {
    rows_[i].rank = i;
  }
}

void Hub::add_to_poll(std::vector<int>& fds) const {
  fds.push_back(listener_.get());
  for (const Peer& peer : peers_) {
    if (!peer.link.closed()) {
      fds.push_back(peer.link.fd());
    }
  }
}

RankMessage Hub::message(RankMessage::Kind kind, const std::string& text) const {
  RankMessage m;
  m.token = place_.hub.token;
  m.kind = kind;
  put_text(m.text, text);
  return m;
}

void Hub::accept_all(std::int64_t now) {
  while (auto link = accept_link(listener_.get())) {
    peers_.push_back({.link = *std::move(link), .heard = now});
  }
}

std::optional<RankFault> Hub::take(Peer& peer, const RankMessage& m) {
  if (m.token != place_.hub.token || m.rank >= place_.ranks) {
    peer.link.close();
    return std::nullopt;
  }
  peer.known = true;
  peer.rank = m.rank;
  rows_[m.rank] = m.row;
  rows_[m.rank].rank = m.rank;
  if (m.kind == RankMessage::Kind::row) {
    peer.link.send(message(RankMessage::Kind::heard, ""));
  }
  const bool told = m.kind == RankMessage::Kind::told;
  peer.ended = told || m.kind == RankMessage::Kind::last || m.kind == RankMessage::Kind::lost;
  return peer.ended ? std::optional<RankFault>({m.rank, m.text.data(), !told}) : std::nullopt;
}

std::optional<RankFault> Hub::hear(Peer& peer, std::int64_t now) {
  std::optional<RankFault> fault;
  while (const auto message = peer.link.receive()) {
    peer.heard = now;
    if (auto found = take(peer, *message); found && !fault) {
      fault = found;
    }
  }
  const bool gone = peer.known && peer.link.closed() && !peer.ended;
  if (gone && !fault && !is_over(rows_[peer.rank].state)) {
    fault = RankFault{peer.rank, "its process, with its keeper, or its node is gone"};
  }
  return fault;
}

std::optional<RankFault> Hub::silent(std::int64_t now, Nanos limit) const {
  for (const Peer& peer : peers_) {
    if (peer.known && !peer.link.closed() && now - peer.heard > limit.count()) {
      return RankFault{peer.rank, fmt::format("nothing was heard of it for {}",
                                              format_duration(Nanos{now - peer.heard}))};
    }
  }
  return std::nullopt;
}

// Who waits for others looks again all the while, and so has a CPU now and then.
std::uint32_t Hub::slowest(std::int64_t now) const {
  const auto still = [&](std::uint32_t rank) { return now - paces_[rank].stirred > kStillNs; };
  std::uint32_t found = 0;
  for (std::uint32_t rank = 1; rank < rows_.size(); ++rank) {
    const std::uint64_t mine = rows_[rank].arrivals, least = rows_[found].arrivals;
    if (mine < least || (mine == least && still(rank) && !still(found))) {
      found = rank;
    }
  }
  return found;
}

// Nobody gets on: some look again, and one has had no CPU in all that time.
bool Hub::all_wait(std::int64_t now) const {
  const std::int64_t patience = settings_.patience.count();
  bool looks = false, stands = false;
  for (const RankRow& row : rows_) {
    const Pace& pace = paces_[row.rank];
    if (is_over(row.state) || now - pace.moved <= patience) {
      return false;
    }
    looks = looks || now - pace.stirred <= kStillNs;
    stands = stands || now - pace.stirred > patience;
  }
  return looks && stands;
}

std::optional<RankFault> Hub::late(std::int64_t now) {
  const std::uint64_t furthest = std::ranges::max(rows_, {}, &RankRow::arrivals).arrivals;
  bool too_long = false;
  for (const RankRow& row : rows_) {
    Pace& pace = paces_[row.rank];
    const std::uint64_t mark = row.arrivals + row.samples + row.compared;
    pace.moved = mark != pace.mark || pace.moved == 0 ? now : pace.moved;
    if (row.arrivals == furthest || mark != pace.mark || pace.since == 0) {
      pace.mark = mark;
      pace.since = now;
    }
    if (row.cpu_ns != pace.cpu || pace.stirred == 0) {
      pace.cpu = row.cpu_ns;
      pace.stirred = now;
    }
    too_long = too_long || now - pace.since > settings_.patience.count();
  }
  if (!too_long && !all_wait(now)) {
    return std::nullopt;
  }
  const std::uint32_t rank = slowest(now);
  return RankFault{rank, fmt::format("others wait for it, and it has not {} for {} (--patience)",
                                     rows_[rank].arrivals == 0 ? "come" : "got on",
                                     format_duration(settings_.patience))};
}

std::optional<RankFault> Hub::look(const RankRow& own, std::int64_t now) {
  if (looked_ != 0 && now - looked_ > kHubStandstillNs) {
    for (Peer& peer : peers_) {
      peer.heard += now - looked_;
    }
    for (Pace& pace : paces_) {
      pace.since += pace.since != 0 ? now - looked_ : 0;
      pace.stirred += pace.stirred != 0 ? now - looked_ : 0;
      pace.moved += pace.moved != 0 ? now - looked_ : 0;
    }
  }
  looked_ = now;
  rows_[place_.rank] = own;
  accept_all(now);
  std::optional<RankFault> fault;
  for (Peer& peer : peers_) {
    const auto found = hear(peer, now);
    fault = fault ? fault : found;
  }
  std::erase_if(peers_, [](const Peer& p) { return p.link.closed(); });
  fault = fault ? fault : silent(now, settings_.silence);
  return fault ? fault : late(now);
}

bool Hub::all_ended() const {
  return std::ranges::all_of(peers_,
                             [](const Peer& p) { return !p.known || p.ended || p.link.closed(); });
}

void Hub::end_all(const RankFault& fault, Nanos patience) {
  for (Peer& peer : peers_) {
    RankMessage order = message(RankMessage::Kind::end, fault.text);
    if (!peer.known) {  // one of ours that has said nothing yet, or a stranger
      order.token = {};
    }
    if (!peer.ended) {
      peer.link.send(order);
    }
  }
  const std::int64_t until = now_ns() + patience.count();
  while (!all_ended() && now_ns() < until) {
    std::vector<pollfd> polled;
    for (const Peer& peer : peers_) {
      if (!peer.link.closed() && !peer.ended) {
        polled.push_back({peer.link.fd(), POLLIN, 0});
      }
    }
    ::poll(polled.data(), polled.size(), 50);
    for (Peer& peer : peers_) {
      hear(peer, now_ns());
    }
  }
  for (RankRow& row : rows_) {
    row.state = fault.lost && row.rank == fault.rank ? RankState::lost
                : is_over(row.state)                 ? row.state
                                                     : RankState::ended;
  }
}

void Hub::say_bye() {
  const RankMessage bye = message(RankMessage::Kind::bye, "");
  for (Peer& peer : peers_) {
    if (peer.known) {
      peer.link.send(bye);
    }
  }
}

}  // namespace blksweep
