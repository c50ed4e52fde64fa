#!/usr/bin/env bash
# Every engine beside the others: depth 1, 32 and 128, files of 4 KiB and of 110 KiB, direct and buffered, cold
# and warm, in random order; samples per second, and CPU per read. The hint reader once more on an emulated disk that seeks.
# A measurement, never an assertion.
#   REPEATS=3   FILES=4000 of 4 KiB, LARGE=600 of 110 KiB   ENGINES='io_uring psync'   SEEKS=1 (0: without that disk)
set -euo pipefail

repeats=${REPEATS:-3}
out=$BENCH_OUT/engines
# A loop device of our own keeps the scheduler of whoever had it last.
queue=()
[ -z "${BENCH_DEVICE:-}" ] || queue=(--scheduler none)

# The words of --engine, as the program has them.
words=$("$BLKSWEEP" run --data / --engine '?' 2>&1 | sed 's/.*is not one of //; s/,//g' || true)
read -r -a engines <<<"${ENGINES:-$words}"

# make_data DIR COUNT SIZE: its catalog is $out.cat
make_data() {
  "$BLKSWEEP" --quiet dataset make "$1" --count "$2" --size "$3" >/dev/null
  "$BLKSWEEP" --quiet catalog "$1" -o "$out.cat" >/dev/null
}

# can CATALOG ENGINE IO ARGUMENT... : whether the options go together, and then whether this disk serves them (not every
# one polls).
can() {
  local -a one=(--quiet run --catalog "$1" --engine "$2" "--$3")
  "$BLKSWEEP" "${one[@]}" "${@:4}" --dry-run >/dev/null 2>&1 || return
  "$BLKSWEEP" "${one[@]}" --cache keep --repeats 1 --no-ceiling --no-probe >/dev/null 2>&1 || [ $? = 3 ]
}

# runs NAME CATALOG ARGUMENT... : one session of all that the engines can do.
runs() {
  local name=$1 catalog=$2 engine io
  shift 2
  local -a direct=() buffered=()
  for engine in "${engines[@]}"; do
    for io in direct buffered; do
      can "$catalog" "$engine" "$io" "$@" || continue
      [ "$io" = direct ] && direct+=("$engine") || buffered+=("$engine")
    done
  done
  for io in direct buffered; do
    local -n able=$io
    [ "${#able[@]}" = 0 ] && continue
    "$BLKSWEEP" --quiet run --catalog "$catalog" --engine "$(IFS=,; echo "${able[*]}")" "--$io" --order random --seed 1 \
      --repeats "$repeats" --no-ceiling --no-probe --batch 64 --json "${queue[@]}" "$@" >"$out.$name.$io.json" ||
      [ $? = 3 ]
  done
}

for size in 4KiB:${FILES:-4000} 110KiB:${LARGE:-600}; do
  make_data "$BENCH_DIR/${size%:*}" "${size#*:}" "${size%:*}"
  runs "${size%:*}" "$out.cat" --depth 1,32,128 --cache cold,warm
done

if [ "${SEEKS:-1}" = 1 ] && [ "$(id -u)" = 0 ]; then
  disk=engines-bench-$$
  mount=$BENCH_DIR/seeks
  mkdir "$mount"
  trap '"$BLKSWEEP" disk stop "$disk" >/dev/null 2>&1 || true' EXIT
  if "$BLKSWEEP" disk start "$disk" --model hdd-7200 --size 8GiB --fs ext4 --mount "$mount" >/dev/null; then
    make_data "$mount/data" "${LARGE:-600}" 110KiB
    "$BLKSWEEP" --quiet run --catalog "$out.cat" --engine psync,hint --hint-window 32MiB,64MiB --order random --cache cold \
      --repeats "$repeats" --no-ceiling --no-probe --batch 64 --json >"$out.seeks.json" || [ $? = 3 ]
  fi
fi

/usr/bin/python3 - "$out" <<'PY'
import json
import os
import statistics
import sys


def runs(name):
    path = f"{sys.argv[1]}.{name}.json"
    if not os.path.exists(path):
        return []
    with open(path) as f:
        return json.load(f)["runs"]


def medians(kept):
    """(engine, depth, cache, direct or buffered) -> samples/s, CPU per read in us."""
    cells = {}
    for r in kept:
        c = r["cell"]
        cells.setdefault((c["engine"], c["depth"], c["cache"], c["io"]), []).append(r)
    return {k: (statistics.median(r["samples_per_s"] for r in v),
                statistics.median(r["cpu_ns"] / r["reads_submitted"] for r in v) / 1e3)
            for k, v in cells.items()}


for size in ("4KiB", "110KiB"):
    for io in ("direct", "buffered"):
        every = runs(f"{size}.{io}")
        got = medians([r for r in every if not r["incomplete"]])
        columns = [(d, c) for c in ("cold", "warm") for d in (1, 32, 128)]
        print(f"{size}, {io}: samples/s (us of CPU a read), {len(every)} runs, "
              f"{sum(r['incomplete'] for r in every)} incomplete")
        print("  engine".ljust(20) + "".join(f"{c} {d}".rjust(18) for d, c in columns))
        for engine in dict.fromkeys(k[0] for k in got):
            line = f"  {engine}".ljust(20)
            for d, c in columns:
                cell = got.get((engine, d, c, io))
                line += ("-" if cell is None else f"{cell[0]:,.0f} ({cell[1]:.1f})").rjust(18)
            print(line)
seeks = {}
for r in runs("seeks"):
    if not r["incomplete"]:
        seeks.setdefault((r["cell"]["engine"], r["cell"]["hint-window"]), []).append(r["samples_per_s"])
plain = next((statistics.median(v) for k, v in seeks.items() if k[0] == "psync"), None)
for (engine, window), rates in seeks.items():
    rate = statistics.median(rates)
    print(f"hdd-7200, 110 KiB, random, cold, {engine} {window or ''}: {rate:,.0f} samples/s"
          + ("" if plain is None else f", {rate / plain:.2f} times psync"))
PY
