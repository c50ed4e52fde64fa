#include "ranks/keeper.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "base/text.h"
#include "ranks/keeper_signals.h"
#include "ranks/launcher.h"
#include "ranks/rank_process.h"
#include "ranks/result.h"
#include "ranks/told_rank.h"

namespace blksweep {
namespace {

constexpr int kTickMs = 100;                                // a row goes to the hub that often
constexpr Nanos kLastRows{std::chrono::milliseconds(600)};  // mpirun kills a second after SIGTERM
// mpirun, once it ends a job, forgets what it has not read of processes that have ended.
constexpr Nanos kHeard{std::chrono::milliseconds(300)};
constexpr std::int64_t kStandstillNs = 1'000'000'000;
constexpr int kToldMs = 200;  // mpirun tells one keeper after the other to end
constexpr const char* kTold = "told to end by a signal";
// Nothing was read by then; on crowded nodes Open MPI is known for it (docs/ranks.md).
constexpr const char* kInMpi = " while MPI started, before anything was read: start the job again";
constexpr Nanos kBye{std::chrono::milliseconds(1500)};
constexpr Nanos kQuiet{std::chrono::seconds(4)};  // mpirun itself waits for a second or two

std::string how_ended(int status) {
  if (WIFSIGNALED(status)) {
    const int number = WTERMSIG(status);
    return fmt::format("ended by signal {} ({})", number, ::strsignal(number));
  }
  return fmt::format("exited with status {} before it was done", WEXITSTATUS(status));
}

std::string with_progress(const std::string& text, const RankRow& row) {
  return fmt::format("{} after {} samples", text, format_count(row.samples));
}

class Keeper {
 public:
  Keeper(const KeeperSettings& settings, Board& board, RankProcess child, KeeperSignals signals,
         Fd listener)
      : settings_(settings),
        board_(board),
        child_(child),
        signals_(std::move(signals)),
        listener_(std::move(listener)),
        began_(now_ns()) {
    place_.rank = told_rank().value_or(0);  // until the rank itself says it
  }
  Exit run();

 private:
  void wait_for_news();
  void join();
  Exit end_for(RankFault fault);
  void end_child();
  std::optional<Exit> look_at_child();
  std::optional<Exit> look_at_hub();
  std::optional<Exit> look_at_start();
  std::optional<Exit> look_at_end();
  std::optional<Exit> obey();
  Exit rank_lost(const std::string& text);
  Exit end_all(const RankFault& fault, Exit exit);
  bool answered() const;
  Exit interrupted();
  Exit hub_lost(const std::string& how);
  bool hub_silent();
  void tell(const RanksResult& result);
  RankRow row() const;
  void send(RankMessage::Kind kind, const std::string& text);
  bool wait_for_bye();
  Exit tell_own(const RankFault& fault, RankState state);

  const KeeperSettings settings_;
  Board& board_;
  RankProcess child_;
  KeeperSignals signals_;
  Fd listener_;
  std::optional<Hub> hub_;
  std::optional<Link> link_;  // to the hub
  RankPlace place_;
  bool placed_ = false;
  std::optional<RankFault> fault_;  // of the hub's
  std::int64_t began_;
  std::int64_t left_ = 0;                           // when all was said
  std::int64_t sent_ = 0, heard_ = 0, looked_ = 0;  // to and of the hub; when it was asked last
};

void Keeper::wait_for_news() {
  std::vector<int> fds{signals_.fd()};
  if (hub_) {
    hub_->add_to_poll(fds);
  }
  if (link_ && !link_->closed()) {
    fds.push_back(link_->fd());
  }
  std::vector<pollfd> polled;
  for (const int fd : fds) {
    polled.push_back({fd, POLLIN, 0});
  }
  ::poll(polled.data(), polled.size(), kTickMs);
}

// Once the rank knows which one it is.
void Keeper::join() {
  if (placed_ || !board_.placed()) {
    return;
  }
  placed_ = true;
  place_ = board_.place();
  if (place_.rank == 0) {
    hub_.emplace(std::move(listener_), place_, settings_.hub);
    return;
  }
  listener_.reset();
  if (Result<Link> link = connect_to_hub(place_.hub)) {
    link_ = *std::move(link);
    send(RankMessage::Kind::row, "");
  } else {
    fmt::print(stderr,
               "blksweep-mpi: warning: rank {}: {}; that a rank is lost is told by mpirun alone\n",
               place_.rank, link.error().message());
  }
}

RankRow Keeper::row() const {
  RankRow row = board_.row();
  row.cpu_ns = child_.cpu_ns();
  return row;
}

void Keeper::send(RankMessage::Kind kind, const std::string& text) {
  if (link_ && !link_->closed()) {
    RankMessage m;
    m.token = place_.hub.token;
    m.kind = kind;
    m.rank = place_.rank;
    m.row = row();
    put_text(m.text, text);
    link_->send(m);
    sent_ = now_ns();
  }
}

// At once, as mpirun may end us before we are through.
void Keeper::end_child() {
  if (const pid_t parent = ::getppid(); is_launcher(parent)) {
    watch_launcher(parent, kQuiet);
  }
  child_.kill();
}

// Behind the answer: who it was, and nothing a second time.
void Keeper::tell(const RanksResult& result) {
  const RankFault& fault = *result.fault;
  const auto row = std::ranges::find(result.rows, fault.rank, &RankRow::rank);
  const std::string host = row == result.rows.end() ? "" : row->host_name();
  if (!answered()) {
    const std::string text =
        settings_.json ? json_line(result_json(result)) + "\n" : result_text(result);
    std::fputs(printable(text, /*newlines=*/true).c_str(), stdout);
    std::fflush(stdout);
  }
  fmt::print(stderr, "blksweep-mpi: {}{}\n", printable(name_of(fault, host)),
             answered() ? ", behind the result" : "");
  const Result<> kept = hub_ && !answered() ? keep_ranks(result, settings_.database) : Result<>();
  if (!kept) {
    const std::string mine = result.rows.front().host_name();
    fmt::print(stderr, "blksweep-mpi: {}\n", printable(not_kept(kept.error(), mine)));
  }
  std::this_thread::sleep_for(kHeard);
}

Exit Keeper::end_all(const RankFault& fault, Exit exit) {
  end_child();
  hub_->look(board_.row(), now_ns());
  hub_->end_all(fault, kLastRows);
  tell({board_.facts(), hub_->rows(), fault, std::nullopt});
  hub_->say_bye();
  return exit;
}

// Another keeper may have heard it first that all should end; where we hear nothing, only that one.
Exit Keeper::end_for(RankFault fault) {
  if (!fault.lost && signals_.told_within(kToldMs)) {
    return interrupted();
  }
  fault.lost = true;
  return end_all(fault, Exit::incomplete);
}

// Whether all is stored; not where the hub is gone, too.
bool Keeper::wait_for_bye() {
  const std::int64_t until = now_ns() + kBye.count();
  while (link_ && !link_->closed() && now_ns() < until) {
    pollfd one{link_->fd(), POLLIN, 0};
    ::poll(&one, 1, kTickMs);
    if (const auto m = link_->receive(); m && m->kind == RankMessage::Kind::bye) {
      return true;
    }
  }
  return false;
}

// Where nobody else does: rank 0's table is gone with rank 0.
Exit Keeper::tell_own(const RankFault& fault, RankState state) {
  RankRow row = board_.row();
  row.state = state;
  tell({"{}", {row}, fault, std::nullopt});
  return Exit::failed;
}

Exit Keeper::rank_lost(const std::string& text) {
  end_child();
  if (!placed_) {  // there is nothing to be told of any rank
    fmt::print(stderr, "blksweep-mpi: {}\n", name_of({place_.rank, text + kInMpi}, ""));
    std::this_thread::sleep_for(kHeard);
    return Exit::failed;
  }
  const RankFault fault{place_.rank, with_progress(text, board_.row())};
  if (hub_) {
    return end_all(fault, Exit::failed);
  }
  send(RankMessage::Kind::lost, fault.text);
  return wait_for_bye() ? Exit::failed : tell_own(fault, RankState::lost);
}

std::optional<Exit> Keeper::look_at_child() {
  const std::optional<int> status = child_.ended();
  if (!status) {
    return std::nullopt;
  }
  const RankRow row = board_.row();
  const int code = WIFEXITED(*status) ? WEXITSTATUS(*status) : -1;
  const bool over =
      code == 0 || (code > 0 && (row.state == RankState::failed || row.state == RankState::done));
  if (over) {
    send(RankMessage::Kind::row, "");
    return static_cast<Exit>(code);
  }
  return rank_lost(how_ended(*status));
}

Exit Keeper::hub_lost(const std::string& how) {
  end_child();
  return tell_own({0, how}, RankState::ended);
}

// Time in which this process did not run does not count.
bool Keeper::hub_silent() {
  const std::int64_t now = now_ns();
  if (heard_ == 0 || now - looked_ > kStandstillNs) {
    heard_ = now;
  }
  looked_ = now;
  return now - heard_ > settings_.hub.silence.count();
}

std::optional<Exit> Keeper::obey() {
  while (const auto message = link_->receive()) {
    heard_ = now_ns();
    if (message->kind == RankMessage::Kind::end) {
      end_child();
      send(RankMessage::Kind::last, message->text.data());
      wait_for_bye();
      return Exit::incomplete;
    }
  }
  const RankState state = board_.row().state;
  if (state == RankState::done || state == RankState::failed) {
    return std::nullopt;
  }
  if (link_->closed()) {
    return hub_lost("its process, with its keeper, or its node is gone");
  }
  return hub_silent()
             ? std::optional<Exit>(hub_lost(fmt::format("nothing was heard of it for {}",
                                                        format_duration(settings_.hub.silence))))
             : std::nullopt;
}

std::optional<Exit> Keeper::look_at_hub() {
  if (hub_) {
    const auto found = hub_->look(row(), now_ns());
    fault_ = fault_ ? fault_ : found;
    const bool answers = answered() && !board_.left();  // what it says is not to be cut off
    return fault_ && !answers ? std::optional(end_for(*fault_)) : std::nullopt;
  }
  if (!link_ || link_->closed()) {
    return std::nullopt;
  }
  if (now_ns() - sent_ >= Nanos(std::chrono::milliseconds(kTickMs)).count()) {
    send(RankMessage::Kind::row, "");
  }
  return obey();
}

std::optional<Exit> Keeper::look_at_start() {
  if (placed_ || now_ns() - began_ <= settings_.hub.patience.count()) {
    return std::nullopt;
  }
  end_child();
  fmt::print(stderr, "blksweep-mpi: MPI did not start in {}: {} (--patience)\n",
             format_duration(settings_.hub.patience),
             board_.asked() ? "rank 0 has not come" : "not all ranks are there");
  return Exit::failed;
}

// MPI ends together: it waits for all ranks without an end, as at the start.
std::optional<Exit> Keeper::look_at_end() {
  left_ = left_ == 0 && board_.left() ? now_ns() : left_;
  if (left_ == 0 || now_ns() - left_ <= settings_.hub.patience.count()) {
    return std::nullopt;
  }
  end_child();
  const std::string what = fmt::format("MPI did not end in {} behind the result (--patience)",
                                       format_duration(settings_.hub.patience));
  fmt::print(stderr, "blksweep-mpi: {}\n",
             printable(name_of({place_.rank, what}, row().host_name())));
  return Exit::failed;
}

Exit Keeper::interrupted() {
  end_child();
  if (hub_) {
    const auto silent = hub_->suspect(now_ns());  // mpirun may have missed it, too
    return silent ? end_all(*silent, Exit::incomplete)
                  : end_all({0, kTold, false}, Exit::interrupted);
  }
  send(RankMessage::Kind::told, kTold);
  wait_for_bye();
  return Exit::interrupted;
}

// mpirun ends what is left as soon as one rank has ended with another status than 0: when all is
// told already, and the rank is about to end by itself.
bool Keeper::answered() const {
  const RankState state = board_.row().state;
  return state == RankState::done || state == RankState::failed;
}

Exit Keeper::run() {
  for (;;) {
    wait_for_news();
    join();
    const bool told = signals_.told_to_end();
    for (const auto look : {&Keeper::look_at_child, &Keeper::look_at_hub, &Keeper::look_at_start,
                            &Keeper::look_at_end}) {
      if (const std::optional<Exit> exit = (this->*look)()) {
        return *exit;
      }
    }
    if (told && !answered()) {
      return interrupted();
    }
  }
}

}  // namespace

Result<Exit> keep_rank(const KeeperSettings& settings, const RankBody& body) {
  BLKSWEEP_TRY(Board board, Board::make());
  HubPlace hub;
  BLKSWEEP_TRY(Fd listener, listen_as_hub(hub));
  BLKSWEEP_TRY(KeeperSignals signals, KeeperSignals::take());
  std::fflush(stdout);
  const auto be = [&] {
    signals.give_back();
    listener.reset();
    return body(board, hub);
  };
  BLKSWEEP_TRY(const RankProcess child, RankProcess::start(be));
  return Keeper(settings, board, child, std::move(signals), std::move(listener)).run();
}

}  // namespace blksweep
