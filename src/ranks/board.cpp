#include "ranks/board.h"

#include <sys/mman.h>

#include <cerrno>
#include <new>
#include <utility>

namespace blksweep {

struct Board::Shared {
  std::atomic<std::uint64_t> version{0};
  std::array<RankRow, 2> rows;
  std::atomic<bool> placed{false}, asked{false}, left{false};
  RankPlace place;
  std::array<char, 8192> facts{};
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "shared by two processes");

Result<Board> Board::make() {
  void* at =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) {
    return sys_error(errno, "mmap of the memory of a rank and its keeper");
  }
  return Board(new (at) Shared());
}

Board::Board(Board&& o) noexcept : shared_(std::exchange(o.shared_, nullptr)) {}

Board::~Board() {
  if (shared_ != nullptr) {
    ::munmap(shared_, sizeof(Shared));
  }
}

void Board::place(const RankPlace& place) {
  shared_->place = place;
  shared_->placed.store(true, std::memory_order_release);
}

void Board::ask() { shared_->asked.store(true, std::memory_order_relaxed); }

void Board::leave() { shared_->left.store(true, std::memory_order_release); }

void Board::facts(const std::string& json) { put_text(shared_->facts, json); }

void Board::publish(const RankRow& row) {
  const std::uint64_t next = shared_->version.load(std::memory_order_relaxed) + 1;
  shared_->rows[next % 2] = row;
  shared_->version.store(next, std::memory_order_release);
}

bool Board::placed() const { return shared_->placed.load(std::memory_order_acquire); }
bool Board::asked() const { return shared_->asked.load(std::memory_order_relaxed); }
bool Board::left() const { return shared_->left.load(std::memory_order_acquire); }
RankPlace Board::place() const { return shared_->place; }
std::string Board::facts() const { return shared_->facts.data(); }

// Whoever writes two rows meanwhile has changed the one that was read.
RankRow Board::row() const {
  for (;;) {
    const std::uint64_t version = shared_->version.load(std::memory_order_acquire);
    const RankRow row = shared_->rows[version % 2];
    std::atomic_thread_fence(std::memory_order_acquire);
    if (shared_->version.load(std::memory_order_relaxed) == version) {
      return row;
    }
  }
}

}  // namespace blksweep
