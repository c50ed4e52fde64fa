// SIGINT while batches are on their way to the GPU, to the program as a user runs it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "os/process/own_program.h"
#include "store/result_reader.h"
#include "support/gpu.h"
#include "support/temp_dir.h"

namespace blksweep {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto kPatience = seconds(60);

std::string program() { return own_program().replace_filename("blksweep").string(); }

// A child whose stderr goes into a file; killed and reaped with the object.
class Program {
 public:
  Program(std::vector<std::string> arguments, std::string log) : log_(std::move(log)) {
    std::vector<char*> argv;
    for (std::string& a : arguments) {
      argv.push_back(a.data());
    }
    argv.push_back(nullptr);
    posix_spawn_file_actions_t files;
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
    ::posix_spawn_file_actions_addopen(&files, 2, log_.c_str(), O_WRONLY | O_CREAT, 0600);
    EXPECT_EQ(::posix_spawn(&pid_, argv[0], &files, nullptr, argv.data(), environ), 0);
    ::posix_spawn_file_actions_destroy(&files);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() {
    if (!status_ && pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
  }

  std::string said() const {
    std::ifstream in(log_);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void interrupt() const { ::kill(pid_, SIGINT); }
  // nullopt: it still runs.
  std::optional<int> ended() {
    int status = 0;
    if (!status_ && ::waitpid(pid_, &status, WNOHANG) == pid_) {
      status_ = status;
    }
    return status_;
  }

 private:
  std::string log_;
  pid_t pid_ = -1;
  std::optional<int> status_;
};

template <class Condition>
bool comes_true(Condition condition) {
  for (const auto end = std::chrono::steady_clock::now() + kPatience;
       std::chrono::steady_clock::now() < end; std::this_thread::sleep_for(milliseconds(20))) {
    if (condition()) {
      return true;
    }
  }
  return false;
}

TEST(GpuInterrupt, EndsWithCopiesInFlightAndKeepsWhatIsDone) {
  SKIP_WITHOUT_GPU();
  if (!std::filesystem::exists(program())) {
    GTEST_SKIP() << "no program blksweep beside the GPU tests";
  }
  const TempDir dir;
  for (int f = 0; f < 400; ++f) {
    dir.write("data/" + std::to_string(f), std::string(200'000, 'x'));
  }
  // Copies are what there is to wait for, so one is in flight whenever the signal comes.
  Program run({program(), "run", "--data", dir.path("data"), "--buffered", "--copy", "cuda",
               "--batch", "64", "--epochs", "20", "--repeats", "1000", "--no-probe", "--no-ceiling",
               "--db", dir.path("r.db")},
              dir.path("log"));
  ASSERT_TRUE(comes_true([&] {
    return run.said().find("[2/") != std::string::npos || run.ended();
  })) << run.said();
  ASSERT_FALSE(run.ended()) << run.said();
  run.interrupt();
  ASSERT_TRUE(comes_true([&] { return run.ended().has_value(); })) << run.said();
  ASSERT_TRUE(WIFEXITED(*run.ended())) << "signal " << WTERMSIG(*run.ended());
  EXPECT_EQ(WEXITSTATUS(*run.ended()), 130) << run.said();
  const auto kept = ResultReader::open(dir.path("r.db"))->runs(1);
  ASSERT_TRUE(kept) << kept.error().message();
  EXPECT_GE(kept->size(), 1U) << "the second run had begun";
}

}  // namespace
}  // namespace blksweep
