// Conversation: a child program that one talks with line by line, and that leaves nothing behind.
//
// Use:       start(), next_line() and say() by turns, end(). Its spec's timeout and max_output mean
//            nothing here: each call has a patience of its own.
// Ownership: whatever it started ends with it, in its process group or not: meanwhile this process
//            adopts orphans (PR_SET_CHILD_SUBREAPER), and end() kills those that it did not have
//            before. The destructor ends it at once. If we end at once (fatal_end.h) or are killed,
//            its process group does: a shell beside it waits for the end of a pipe of ours.
// Errors:    a program that cannot be started, as process.h; one that does not listen any more.
// Threads:   one owner, which starts no other children meanwhile.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"
#include "os/process/process.h"
#include "os/process/process_tree.h"

namespace blksweep {

struct Heard {
  enum class What { line, silence, end, interrupt };  // silence: for as long as patience lasted
  What what = What::silence;
  std::string line;  // without its end, which the last one need not have
};

class Conversation {
 public:
  static Result<Conversation> start(const ProcessSpec& spec);
  Conversation(Conversation&&) noexcept;
  Conversation& operator=(Conversation&&) = delete;
  ~Conversation();

  // Its next line on stdout. A line of more than 64 MiB ends the conversation.
  Heard next_line(Nanos patience);
  Result<> say(std::string_view text);

  struct Ended {
    ProcessResult process;        // of stderr, the last 64 KiB
    std::size_t left_behind = 0;  // processes that it had started and did not end
  };
  // Waits that long for it to end by itself; then SIGTERM, and a second later SIGKILL.
  Ended end(Nanos patience);
  pid_t pid() const;
  // Of it with all that it started, what has left its parents, too. Unknown reads, and no CPU time,
  // once it has ended.
  TreeUse use() const;

 private:
  struct State;
  explicit Conversation(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace blksweep
