// Whether this process stood still while something was timed: stopped (SIGSTOP, Ctrl-Z), frozen
// with its cgroup (docker pause, systemctl freeze), or held with the whole machine. Its clock goes
// on meanwhile.
//
// Method:  a thread looks at the clock fifty times a second; a gap of a quarter of a second is no
//          scheduler's. Nor are shorter ones in which it hardly waited for a CPU (schedstat): three
//          of a tenth of a second each count, if they are a twentieth of the time together. A stop
//          that ends with SIGCONT is seen however short it was.
// Cost:    one wake-up in 20 ms.
// Errors:  none. Threads: one owner.
#pragma once

#include <atomic>
#include <cstdint>
#include <stop_token>
#include <string>
#include <thread>

namespace blksweep {

class Standstill {
 public:
  Standstill();
  Standstill(const Standstill&) = delete;
  Standstill& operator=(const Standstill&) = delete;

  // Since it was made: "this process stood still for 1.5 s (...)", or "".
  std::string seen() const;

 private:
  void look(const std::stop_token& done);

  unsigned continued_;
  std::atomic<std::int64_t> last_ns_;
  std::atomic<std::int64_t> longest_ns_{0};
  const std::int64_t began_ns_;
  std::atomic<std::int64_t> held_ns_{0};  // in gaps that no wait for a CPU explains
  std::atomic<unsigned> gaps_held_{0};
  std::jthread thread_;  // last: it uses the others
};

}  // namespace blksweep
