// Starts a program with given standard streams: what process.h and conversation.h share.
//
// The child is in a process group of its own, has our environment but for what the spec says, no
// handlers and no blocked signals, and is killed when the calling thread ends (but for
// outlives_us).
//
// Errors:  as process.h: a program that cannot be started is an Error with its errno.
// Threads: any.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include "base/fd.h"
#include "base/result.h"
#include "os/process/process.h"

namespace blksweep {

struct Pipe {
  Fd read_end, write_end;
};
enum class OurEnd { read, write };  // it does not block; both are closed by exec
Result<Pipe> make_pipe(OurEnd ours = OurEnd::read);

struct StdStreams {
  int in = -1;  // -1: nothing to read
  int out = -1, err = -1;
};
Result<pid_t> spawn(const ProcessSpec& spec, const StdStreams& streams);

// From wait4(2).
void how_it_ended(ProcessResult& result, int status, const rusage& usage);

}  // namespace blksweep
