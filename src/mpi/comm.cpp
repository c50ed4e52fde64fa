#include "mpi/comm.h"

// The C interface only.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <iterator>
#include <limits>
#include <set>
#include <thread>

#include "base/clock.h"

namespace blksweep {
namespace {

using std::chrono::microseconds;

constexpr microseconds kShortest{20}, kLongest{200};
constexpr std::int64_t kAwakeNs = 20'000;                  // what comes sooner is not slept for
constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;  // counts of MPI are of 31 bits
constexpr int kClockRounds = 64, kClockTag = 1;

// Until the call that made the request is through.
void finish(MPI_Request request) {
  const std::int64_t begin = now_ns();
  microseconds sleep = kShortest;
  for (int done = 0; done == 0;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done == 0 && now_ns() - begin > kAwakeNs) {
      std::this_thread::sleep_for(sleep);
      sleep = std::min(2 * sleep, kLongest);
    }
  }
}

template <class Call>
void do_and_wait(Call call) {
  MPI_Request request = MPI_REQUEST_NULL;
  call(&request);
  finish(request);
}

int count_of(std::size_t n) {
  return static_cast<int>(std::min<std::size_t>(n, std::numeric_limits<int>::max()));
}

// Rank 0 asks, the other one answers with its clock.
void answer_clock() {
  for (int i = 0; i < kClockRounds; ++i) {
    std::int64_t now = 0;
    MPI_Recv(&now, 1, MPI_INT64_T, 0, kClockTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    now = now_ns();
    MPI_Send(&now, 1, MPI_INT64_T, 0, kClockTag, MPI_COMM_WORLD);
  }
}

ClockOffset ask_clock(int rank) {
  ClockOffset best{0, std::numeric_limits<std::int64_t>::max()};
  for (int i = 0; i < kClockRounds; ++i) {
    const std::int64_t asked = now_ns();
    std::int64_t theirs = asked;
    MPI_Send(&theirs, 1, MPI_INT64_T, rank, kClockTag, MPI_COMM_WORLD);
    MPI_Recv(&theirs, 1, MPI_INT64_T, rank, kClockTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const std::int64_t half = (now_ns() - asked + 1) / 2;
    if (half < best.error) {
      best = {asked + half - theirs, half};
    }
  }
  return best;
}

}  // namespace

Comm::Comm(int argc, char** argv) {
  int given = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &given);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  rank_ = static_cast<std::uint32_t>(rank);
  ranks_ = static_cast<std::uint32_t>(ranks);
  std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
  int length = 0;
  MPI_Get_processor_name(name.data(), &length);
  host_.assign(name.data(), static_cast<std::size_t>(length));
  MPI_Comm here = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &here);
  int on_node = 0, lowest = 0;
  MPI_Comm_rank(here, &on_node);
  MPI_Allreduce(&rank, &lowest, 1, MPI_INT, MPI_MIN, here);
  MPI_Comm_free(&here);
  // Nodes before this one: as many as there are lowest ranks below its own.
  std::vector<int> all(ranks_);
  MPI_Allgather(&lowest, 1, MPI_INT, all.data(), 1, MPI_INT, MPI_COMM_WORLD);
  const std::set<int> nodes(all.begin(), all.end());
  node_ = static_cast<std::uint32_t>(std::distance(nodes.begin(), nodes.find(lowest)));
  on_node_ = static_cast<std::uint32_t>(on_node);
}

// It waits for the others, who do not come where this rank has failed alone.
Comm::~Comm() {
  if (std::uncaught_exceptions() == 0) {
    MPI_Finalize();
  }
}

void Comm::describe(RankRow& row) const {
  row.rank = rank_;
  row.node = node_;
  row.on_node = on_node_;
  put_text(row.host, host_);
}

void Comm::broadcast_bytes(std::span<std::byte> bytes) const {
  for (std::size_t done = 0; done < bytes.size(); done += kMostAtOnce) {
    const std::span<std::byte> some =
        bytes.subspan(done, std::min(kMostAtOnce, bytes.size() - done));
    do_and_wait([&](MPI_Request* r) {
      MPI_Ibcast(some.data(), count_of(some.size()), MPI_BYTE, 0, MPI_COMM_WORLD, r);
    });
  }
}

void Comm::broadcast(std::string& bytes) const {
  std::uint64_t size = bytes.size();
  broadcast(size);
  bytes.resize(size);
  broadcast_bytes(std::as_writable_bytes(std::span(bytes)));
}

std::uint32_t Comm::most(std::uint32_t value) const {
  std::uint32_t most = 0;
  do_and_wait([&](MPI_Request* r) {
    MPI_Iallreduce(&value, &most, 1, MPI_UINT32_T, MPI_MAX, MPI_COMM_WORLD, r);
  });
  return most;
}

std::int64_t Comm::wait_for_all() const {
  const std::int64_t begin = now_ns();
  do_and_wait([](MPI_Request* r) { MPI_Ibarrier(MPI_COMM_WORLD, r); });
  return now_ns() - begin;
}

std::vector<std::vector<std::uint64_t>> Comm::gather(std::span<const std::uint64_t> mine) const {
  std::vector<std::vector<std::uint64_t>> out(first() ? ranks_ : 0);
  if (!first()) {
    const std::uint64_t size = mine.size();
    do_and_wait(
        [&](MPI_Request* r) { MPI_Isend(&size, 1, MPI_UINT64_T, 0, 0, MPI_COMM_WORLD, r); });
    do_and_wait([&](MPI_Request* r) {
      MPI_Isend(mine.data(), count_of(mine.size()), MPI_UINT64_T, 0, 0, MPI_COMM_WORLD, r);
    });
    return out;
  }
  out[0].assign(mine.begin(), mine.end());
  for (std::uint32_t from = 1; from < ranks_; ++from) {
    const int rank = static_cast<int>(from);
    std::uint64_t size = 0;
    do_and_wait(
        [&](MPI_Request* r) { MPI_Irecv(&size, 1, MPI_UINT64_T, rank, 0, MPI_COMM_WORLD, r); });
    out[from].resize(size);
    do_and_wait([&](MPI_Request* r) {
      MPI_Irecv(out[from].data(), count_of(size), MPI_UINT64_T, rank, 0, MPI_COMM_WORLD, r);
    });
  }
  return out;
}

std::vector<std::string> Comm::gather_texts(const std::string& mine) const {
  const std::vector<std::uint64_t> letters(mine.begin(), mine.end());
  std::vector<std::string> out;
  for (const std::vector<std::uint64_t>& text : gather(letters)) {
    std::string& made = out.emplace_back();
    for (const std::uint64_t letter : text) {
      made += static_cast<char>(letter);
    }
  }
  return out;
}

std::vector<RankRow> Comm::gather_rows(const RankRow& mine) const {
  std::vector<RankRow> rows(first() ? ranks_ : 0);
  do_and_wait([&](MPI_Request* r) {
    MPI_Igather(&mine, sizeof mine, MPI_BYTE, rows.data(), sizeof mine, MPI_BYTE, 0, MPI_COMM_WORLD,
                r);
  });
  return rows;
}

ClockOffset Comm::measure_clock() const {
  ClockOffset mine;
  for (std::uint32_t rank = 1; rank < ranks_; ++rank) {
    wait_for_all();  // the others sleep meanwhile
    if (first()) {
      ClockOffset theirs = ask_clock(static_cast<int>(rank));
      MPI_Send(&theirs, sizeof theirs, MPI_BYTE, static_cast<int>(rank), kClockTag, MPI_COMM_WORLD);
    } else if (rank == rank_) {
      answer_clock();
      MPI_Recv(&mine, sizeof mine, MPI_BYTE, 0, kClockTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
  wait_for_all();
  return mine;
}

Result<> Comm::agree(const Result<>& mine) const {
  // The lowest rank with an error has the largest number.
  const std::uint32_t worst = most(mine ? 0 : ranks_ - rank_);
  if (worst == 0) {
    return {};
  }
  std::vector<std::string> texts = gather_texts(mine ? "" : mine.error().message());
  std::vector<std::string> hosts = gather_texts(host_);
  const std::uint32_t which = ranks_ - worst;
  std::uint32_t code =
      most(mine || rank_ != which ? 0 : static_cast<std::uint32_t>(mine.error().exit_code));
  std::string text = first() ? name_of({which, texts[which]}, hosts[which]) : "";
  broadcast(text);
  return fail(text, static_cast<Exit>(code));
}

}  // namespace blksweep
