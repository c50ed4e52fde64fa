#!/usr/bin/env bash
# What `trace record --files` costs the program that is recorded: one that reads 4 KiB 20,000 times a
# second (the rest is computing), with and without, in turn; the ratio of the medians.
#
#   REPEATS=11
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/../cli/helpers.bash"

[ "$(id -u)" = 0 ] || skip 'needs root for BPF'
mkdir "$tmp/data"
head -c 4M /dev/urandom >"$tmp/data/a"
cat >"$tmp/reader.c" <<'C'
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}
int main(int argc, char** argv) {
  static char page[4096];
  static volatile unsigned work;
  int fd = open(argv[1], O_RDONLY);
  double begin = now();
  for (int i = 0; i < 40000; i++) {
    if (pread(fd, page, sizeof page, (i * 7 % 1024) * 4096L) != sizeof page) return 1;
    for (unsigned n = 0; n < WORK; n++) work += n;
  }
  fprintf(stderr, "%.6f\n", now() - begin);
}
C
# As much work as makes 50 us a read.
build() { cc -O2 -DWORK="$1" -o "$tmp/reader" "$tmp/reader.c"; }
build 10000
seconds=$("$tmp/reader" "$tmp/data/a" 2>&1)
build "$("$python" -c "print(int(10000 * 2.0 / $seconds))")"
for ((repeat = 0; repeat < ${REPEATS:-11}; repeat++)); do
  "$tmp/reader" "$tmp/data/a" 2>>"$tmp/without"
  rm -f "$tmp/trace"
  "$blksweep" -q trace record --files --data "$tmp/data" -o "$tmp/trace" -- \
    "$tmp/reader" "$tmp/data/a" 2>>"$tmp/with"
done
call trace stat "$tmp/trace" --json
"$python" - "$tmp/without" "$tmp/with" "$tmp/.out" <<'PY'
import json, statistics, sys
without, recorded = ([float(line) for line in open(name)] for name in sys.argv[1:3])
requests = json.load(open(sys.argv[3]))["requests"]
a, b = statistics.median(without), statistics.median(recorded)
print(f"{40000 / a:,.0f} reads/s; recorded (all {requests:,}): {100 * (b / a - 1):+.2f} %, "
      f"{(b - a) / 40000 * 1e9:.0f} ns a read")
PY
