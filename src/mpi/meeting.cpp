#include "mpi/meeting.h"

#include <pmix.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <thread>

#include "base/clock.h"

namespace blksweep {
namespace {

constexpr const char* kPlaceKey = "blksweep.hub";
constexpr std::int64_t kAskNs =
    1'500'000'000;  // a rank 0 that is there answers within milliseconds
constexpr std::chrono::milliseconds kBetween{10};

// What somebody has put; of `rank`, or of the job.
template <class T>
std::optional<T> get(const pmix_proc_t& self, pmix_rank_t rank, const char* key) {
  pmix_proc_t from = self;
  from.rank = rank;
  pmix_value_t* value = nullptr;
  if (PMIx_Get(&from, key, nullptr, 0, &value) != PMIX_SUCCESS || value == nullptr) {
    return std::nullopt;
  }
  std::optional<T> out;
  if constexpr (std::is_same_v<T, std::uint32_t>) {
    out = value->type == PMIX_UINT32 ? std::optional(value->data.uint32) : std::nullopt;
  } else if (value->type == PMIX_BYTE_OBJECT && value->data.bo.size == sizeof(T)) {
    std::memcpy(&out.emplace(), value->data.bo.bytes, sizeof(T));
  }
  PMIX_VALUE_RELEASE(value);
  return out;
}

bool put_place(const HubPlace& hub) {
  std::array<char, sizeof hub> bytes{};
  std::memcpy(bytes.data(), &hub, sizeof hub);
  pmix_value_t value{};
  value.type = PMIX_BYTE_OBJECT;
  value.data.bo.bytes = bytes.data();
  value.data.bo.size = bytes.size();
  return PMIx_Put(PMIX_GLOBAL, kPlaceKey, &value) == PMIX_SUCCESS && PMIx_Commit() == PMIX_SUCCESS;
}

std::optional<HubPlace> ask_place(const pmix_proc_t& self) {
  const std::int64_t begin = now_ns();
  for (;;) {
    const auto found = get<HubPlace>(self, 0, kPlaceKey);
    if (found || now_ns() - begin > kAskNs) {
      return found;
    }
    std::this_thread::sleep_for(kBetween);
  }
}

// As it will tell once MPI runs; it waits for others already.
RankRow early_row(std::uint32_t rank) {
  RankRow row;
  row.rank = rank;
  row.arrivals = 1;
  ::gethostname(row.host.data(), row.host.size() - 1);
  return row;
}

}  // namespace

Meeting::Meeting(const MpiOptions& options, Board& board, const HubPlace& hub) {
  pmix_proc_t self{};
  // Only mpirun's: under Slurm 22.05's a rank crashed now and then before it had read anything.
  if (std::getenv("OMPI_COMM_WORLD_SIZE") == nullptr || std::getenv("PMIX_NAMESPACE") == nullptr ||
      PMIx_Init(&self, nullptr, 0) != PMIX_SUCCESS) {
    return;
  }
  open_ = true;
  board.facts(json_line(settings_json(options)));
  board.publish(early_row(self.rank));
  const auto ranks = get<std::uint32_t>(self, PMIX_RANK_WILDCARD, PMIX_JOB_SIZE);
  if (!ranks) {
    return;
  }
  if (self.rank == 0) {
    if (put_place(hub)) {
      board.place({0, *ranks, hub});
    }
    return;
  }
  board.ask();
  if (const auto found = ask_place(self)) {
    board.place({self.rank, *ranks, *found});
  }
}

Meeting::~Meeting() {
  if (open_) {
    PMIx_Finalize(nullptr, 0);
  }
}

}  // namespace blksweep
