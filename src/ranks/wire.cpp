#include "ranks/wire.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace blksweep {
namespace {

constexpr int kPatienceMs = 1000;  // of a connection, and of what is sent

bool is_ready(int fd, short events) {
  pollfd one{fd, events, 0};
  return ::poll(&one, 1, kPatienceMs) == 1 && (one.revents & events) != 0;
}

// Loopback last: it leads to the hub on its own node only, where all of them do.
void add_addresses(HubPlace& place) {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) {
    return;
  }
  std::size_t used = 0;
  for (const bool loopback : {false, true}) {
    for (const ifaddrs* i = all; i != nullptr && used < place.addresses.size(); i = i->ifa_next) {
      const bool usable = i->ifa_addr != nullptr && i->ifa_addr->sa_family == AF_INET &&
                          (i->ifa_flags & IFF_UP) != 0 &&
                          ((i->ifa_flags & IFF_LOOPBACK) != 0) == loopback;
      if (usable) {
        sockaddr_in address{};
        std::memcpy(&address, i->ifa_addr, sizeof address);
        std::array<char, 46>& text = place.addresses[used++];
        ::inet_ntop(AF_INET, &address.sin_addr, text.data(), static_cast<socklen_t>(text.size()));
      }
    }
  }
  ::freeifaddrs(all);
}

sockaddr_in address_of(std::uint32_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

template <class Address>
sockaddr* generic(Address& address) {
  return reinterpret_cast<sockaddr*>(&address);
}

Result<Link> connect_to(const char* text, std::uint32_t port) {
  Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) {
    return sys_error(errno, "socket");
  }
  sockaddr_in address = address_of(port);
  ::inet_pton(AF_INET, text, &address.sin_addr);
  if (::connect(fd.get(), generic(address), sizeof address) != 0 && errno != EINPROGRESS) {
    return sys_error(errno, fmt::format("connect to {}", text));
  }
  int error = is_ready(fd.get(), POLLOUT) ? 0 : ETIMEDOUT;
  socklen_t length = sizeof error;
  if (error == 0) {
    ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &length);
  }
  return error == 0 ? Result<Link>(Link(std::move(fd)))
                    : Result<Link>(sys_error(error, fmt::format("connect to {}", text)));
}

}  // namespace

bool Link::send(const RankMessage& message) {
  std::array<char, sizeof(RankMessage)> bytes{};
  std::memcpy(bytes.data(), &message, sizeof message);
  for (std::size_t done = 0; fd_ && done < bytes.size();) {
    const ssize_t n = ::send(fd_.get(), bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (n >= 0) {
      done += static_cast<std::size_t>(n);
    } else if (errno != EINTR && !(errno == EAGAIN && is_ready(fd_.get(), POLLOUT))) {
      fd_.reset();
    }
  }
  return !closed();
}

std::optional<RankMessage> Link::receive() {
  while (fd_ && pending_.size() < sizeof(RankMessage)) {
    std::array<char, sizeof(RankMessage)> bytes{};
    const ssize_t n = ::recv(fd_.get(), bytes.data(), sizeof(RankMessage) - pending_.size(), 0);
    if (n > 0) {
      pending_.insert(pending_.end(), bytes.begin(), bytes.begin() + n);
    } else if (n < 0 && errno == EAGAIN) {
      return std::nullopt;
    } else if (n == 0 || errno != EINTR) {
      fd_.reset();
    }
  }
  if (pending_.size() < sizeof(RankMessage)) {
    return std::nullopt;
  }
  RankMessage message;
  std::memcpy(&message, pending_.data(), sizeof message);
  message.text.back() = '\0';
  message.row.host.back() = '\0';
  pending_.clear();
  return message;
}

Result<Fd> listen_as_hub(HubPlace& place) {
  Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) {
    return sys_error(errno, "socket");
  }
  sockaddr_in address = address_of(0);
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  socklen_t length = sizeof address;
  if (::bind(fd.get(), generic(address), length) != 0 || ::listen(fd.get(), SOMAXCONN) != 0 ||
      ::getsockname(fd.get(), generic(address), &length) != 0) {
    return sys_error(errno, "listen for the other ranks");
  }
  place.port = ntohs(address.sin_port);
  if (::getrandom(place.token.data(), sizeof place.token, 0) != sizeof place.token) {
    return sys_error(errno, "getrandom");
  }
  add_addresses(place);
  return fd;
}

Result<Link> connect_to_hub(const HubPlace& place) {
  Result<Link> link = fail("rank 0 has no address");
  for (const std::array<char, 46>& text : place.addresses) {
    if (text[0] != '\0') {
      link = connect_to(text.data(), place.port);
    }
    if (link) {
      break;
    }
  }
  return link;
}

std::optional<Link> accept_link(int listener) {
  Fd fd(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  return fd ? std::optional<Link>(Link(std::move(fd))) : std::nullopt;
}

}  // namespace blksweep
