// What a pin's daemon tells the command that started it: one JSON object a line, through a pipe.
//
// Errors:  a pipe that ends without a word is an error. Threads: one at each end.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "node/pin/pin.h"
#include "node/pin/registry.h"

namespace blksweep {

struct PinPipe {
  Fd read_end, write_end;
  static Result<PinPipe> make();
};

// Dropped when the pipe is full: the next one says more.
void tell_progress(int fd, std::uint64_t files_done);
void tell_held(int fd, const PinEntry& entry);
void tell_error(int fd, const Error& error);
bool is_listened_to(int fd);  // the other end is still open

// Until the entry or the error comes. `look` is called some times a second; false ends the wait
// with Exit::interrupted.
Result<PinEntry> hear(int fd, const std::function<bool()>& look, const PinProgress& progress);

}  // namespace blksweep
