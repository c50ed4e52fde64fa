#include "node/pin/registry.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "node/pin/wire.h"
#include "support/temp_dir.h"

namespace blksweep {
namespace {

PinEntry full_entry(const ProcessId& daemon) {
  PinEntry e;
  e.name = "p1";
  e.kind = PinKind::pages;
  e.held = true;
  e.count = {.files = 7, .failed = 2, .folders = 3, .helpers = 4, .bytes = Bytes{99}};
  e.count.first_error = "open \"ä\"\n: no";
  e.kernel_memory = Bytes{123};
  e.memory_source = "somewhere";
  e.slab_growth = -5;
  e.took_ns = 17;
  e.since_unix_ns = 18;
  e.daemon = daemon;
  e.roots = {"a b", "/c"};
  return e;
}

ProcessId dead_process() {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::_exit(0);
  }
  ::waitpid(pid, nullptr, 0);
  return {pid, 1};
}

TEST(PinEntry, ComesBackFromItsText) {
  const std::string text = to_json_text(full_entry(*own_id()));
  const Result<PinEntry> back = parse_pin_entry(text, "file");
  ASSERT_TRUE(back) << back.error().text;
  EXPECT_EQ(to_json_text(*back), text);
}

TEST(PinEntry, CutAnywhereItIsAnErrorThatNamesTheFile) {
  const std::string text = to_json_text(full_entry(*own_id()));
  for (std::size_t length = 0; length + 3 < text.size(); ++length) {
    const Result<PinEntry> back = parse_pin_entry(text.substr(0, length), "the-file");
    ASSERT_FALSE(back) << length;
    EXPECT_NE(back.error().text.find("the-file"), std::string::npos);
  }
  EXPECT_FALSE(parse_pin_entry(R"({"name": 1})", "f"));
  std::string no_pid = text;
  no_pid.replace(no_pid.find("\"pid\": "), 7, "\"pid\": -");
  EXPECT_FALSE(parse_pin_entry(no_pid, "f"));
}

TEST(PinEntry, TheFirstProcessHoldsNoPin) {
  EXPECT_FALSE(parse_pin_entry(to_json_text(full_entry({1, 1})), "f"));
  EXPECT_TRUE(parse_pin_entry(to_json_text(full_entry({2, 1})), "f"));
}

TEST(PinName, IsAPlainWord) {
  for (const char* name : {"a", "warm-inodes", "0_x"}) {
    EXPECT_TRUE(check_pin_name(name)) << name;
  }
  for (const char* name :
       {"", "-a", "../a", "a/b", "a.b", ".", "a b", "a23456789012345678901234567890123"}) {
    EXPECT_EQ(check_pin_name(name).error().exit_code, Exit::usage) << name;
  }
}

TEST(PinRegistry, ALivingPinKeepsItsNameAndSaysWhoItIs) {
  const TempDir run;
  const PinRegistry registry(run.path());
  ASSERT_TRUE(registry.claim(full_entry(*own_id())));
  const Result<> second = registry.claim(full_entry(*own_id()));
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().text.find("pid " + std::to_string(::getpid())), std::string::npos);
  EXPECT_EQ(*registry.names(), std::vector<std::string>{"p1"});
}

TEST(PinRegistry, ADeadPinsNameIsTakenOver) {
  const TempDir run;
  const PinRegistry registry(run.path());
  const ProcessId dead = dead_process();
  ASSERT_TRUE(registry.claim(full_entry(dead)));
  ASSERT_TRUE(registry.claim(full_entry(*own_id())));
  // The dead one's end comes late: the name is another's by now.
  ASSERT_TRUE(registry.remove("p1", dead));
  EXPECT_EQ(registry.load("p1")->daemon.pid, ::getpid());
  ASSERT_TRUE(registry.remove("p1", *own_id()));
  EXPECT_TRUE(registry.names()->empty());
}

TEST(PinRegistry, AnUnknownNameListsThoseThereAre) {
  const TempDir run;
  const PinRegistry registry(run.path());
  EXPECT_NE(registry.load("x").error().text.find("there is none"), std::string::npos);
  ASSERT_TRUE(registry.claim(full_entry(*own_id())));
  EXPECT_NE(registry.load("x").error().text.find("there are: p1"), std::string::npos);
}

TEST(PinRegistry, FollowsNoLinkAndTrustsNoFolderThatOthersWrite) {
  const TempDir run;
  const TempDir elsewhere;
  const PinRegistry registry(run.path());
  ASSERT_TRUE(registry.claim(full_entry(*own_id())));
  ASSERT_TRUE(registry.discard("p1"));
  elsewhere.write("target", "untouched");
  std::filesystem::create_symlink(elsewhere.path("target"), run.path("blksweep/pins/p1"));
  EXPECT_FALSE(registry.claim(full_entry(*own_id())));
  EXPECT_EQ(read_file(elsewhere.path("target")), "untouched");
  ASSERT_TRUE(registry.discard("p1"));
  ASSERT_EQ(::chmod(run.path("blksweep/pins").c_str(), 0777), 0);
  EXPECT_FALSE(registry.claim(full_entry(*own_id())));
}

// --- what its daemon tells ---------------------------------------------------------------------

bool wait_on() { return true; }

// Longer than one read of the pipe.
TEST(PinWire, ProgressAndTheEntryArriveWhole) {
  const auto pipe = PinPipe::make();
  ASSERT_TRUE(pipe);
  PinEntry entry = full_entry(*own_id());
  entry.roots.push_back(std::string(10'000, 'r'));
  tell_progress(pipe->write_end.get(), 3);
  tell_progress(pipe->write_end.get(), 40);
  tell_held(pipe->write_end.get(), entry);
  std::vector<std::uint64_t> told;
  const auto heard =
      hear(pipe->read_end.get(), wait_on, [&](std::uint64_t files) { told.push_back(files); });
  ASSERT_TRUE(heard) << heard.error().text;
  EXPECT_EQ(to_json_text(*heard), to_json_text(entry));
  EXPECT_EQ(told, (std::vector<std::uint64_t>{3, 40}));
}

TEST(PinWire, AnErrorArrivesWithItsExitStatus) {
  const auto pipe = PinPipe::make();
  tell_error(pipe->write_end.get(), usage_error("so not").value());
  const auto heard = hear(pipe->read_end.get(), wait_on, {});
  ASSERT_FALSE(heard);
  EXPECT_EQ(heard.error().text, "so not");
  EXPECT_EQ(heard.error().exit_code, Exit::usage);
}

Result<PinEntry> heard_of(const std::string& line) {
  auto pipe = PinPipe::make();
  EXPECT_TRUE(pipe);
  EXPECT_EQ(::write(pipe->write_end.get(), line.data(), line.size()), std::ssize(line));
  pipe->write_end = Fd();
  return hear(pipe->read_end.get(), wait_on, {});
}

TEST(PinWire, AnErrorWithoutAStatusIsAFailure) {
  const auto heard = heard_of("{\"error\": \"so not\"}\n");
  ASSERT_FALSE(heard);
  EXPECT_EQ(heard.error().text, "so not");
  EXPECT_EQ(heard.error().exit_code, Exit::failed);
}

TEST(PinWire, WhatIsNoWordIsShownAsItCame) {
  for (const std::string line :
       {"{}", "[]", "\"error\"", "[\"error\"]", "{\"error\": 5}", "{\"held\": 5}", "{\"done\": -1}",
        "{\"done\": \"3\"}", "3", "what?", ""}) {
    const auto heard = heard_of(line + "\n");
    ASSERT_FALSE(heard);
    EXPECT_EQ(heard.error().text, "the pin's daemon says what is not understood: " + line);
  }
}

// A daemon that waits for its listener would pin nothing meanwhile.
TEST(PinWire, ProgressThatFindsNoRoomIsDropped) {
  const auto pipe = PinPipe::make();
  const int end = pipe->write_end.get();
  ASSERT_EQ(::fcntl(end, F_SETFL, O_NONBLOCK), 0);
  const std::string line(4096, '\n');
  std::size_t filled = 0;
  for (ssize_t n = 0; (n = ::write(end, line.data(), line.size())) > 0;) {
    filled += static_cast<std::size_t>(n);
  }
  ASSERT_EQ(::fcntl(end, F_SETFL, 0), 0);
  tell_progress(end, 7);
  std::string all(filled + 100, ' ');
  ASSERT_EQ(::fcntl(pipe->read_end.get(), F_SETFL, O_NONBLOCK), 0);
  std::size_t there = 0;
  for (ssize_t n = 0; (n = ::read(pipe->read_end.get(), all.data(), all.size())) > 0;) {
    there += static_cast<std::size_t>(n);
  }
  EXPECT_EQ(there, filled);
}

TEST(PinWire, AnEndWithoutAWordIsAnError) {
  auto pipe = PinPipe::make();
  EXPECT_TRUE(is_listened_to(pipe->write_end.get()));
  tell_progress(pipe->write_end.get(), 1);
  pipe->write_end = Fd();
  const auto heard = hear(pipe->read_end.get(), wait_on, {});
  ASSERT_FALSE(heard);
  EXPECT_NE(heard.error().text.find("ended before everything was pinned"), std::string::npos);
}

TEST(PinWire, WhatCannotBeReadIsAnErrorThatSaysWhy) {
  const Fd folder(::open("/", O_RDONLY | O_CLOEXEC));
  const auto heard = hear(folder.get(), wait_on, {});
  ASSERT_FALSE(heard);
  EXPECT_EQ(heard.error().message(), "read what the pin's daemon says: Is a directory");
}

TEST(PinWire, WhileNothingIsSaidItLooksWhetherToGoOn) {
  const auto pipe = PinPipe::make();
  int looks = 0;
  const auto heard = hear(pipe->read_end.get(), [&] { return ++looks < 3; }, {});
  ASSERT_FALSE(heard);
  EXPECT_EQ(heard.error().exit_code, Exit::interrupted);
  EXPECT_EQ(looks, 3);
}

TEST(PinWire, WhoseListenerIsGoneIsNotListenedTo) {
  auto pipe = PinPipe::make();
  pipe->read_end = Fd();
  EXPECT_FALSE(is_listened_to(pipe->write_end.get()));
}

}  // namespace
}  // namespace blksweep
