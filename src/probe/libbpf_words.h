// LibbpfWords: while it lives, libbpf keeps quiet on stderr, and its newest warning is kept as the
// detail of an error.
//
// Threads: what is kept is per thread; one object at a time.
#pragma once

#include <string>

namespace blksweep {

class LibbpfWords {
 public:
  LibbpfWords();
  ~LibbpfWords();
  LibbpfWords(const LibbpfWords&) = delete;
  LibbpfWords& operator=(const LibbpfWords&) = delete;

  // One line without the prefix "libbpf: "; "" when it said nothing since forget().
  static const std::string& last();
  static void forget();

 private:
  void* before_;  // the print function that was set
};

}  // namespace blksweep
