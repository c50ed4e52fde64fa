#!/usr/bin/env bash
# The reader's own tracepoints say what the run's row says: reads, bytes, batches and the time that it stood before a full window.
# Alone: programs on hot paths make the probes of other tests lose events.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"

command -v bpftrace >/dev/null || skip 'needs bpftrace'
[ "$(id -u)" = 0 ] || skip 'needs root for BPF'
ebpf=$(realpath "$(dirname "$0")/../../ebpf")
program=$(realpath "$blksweep")
make_data "$tmp/data" 1500
make_catalog "$tmp/data" "$tmp/data.cat"

# followed OPTION...: the run's row in $tmp/run.json, what was seen in $tmp/seen
followed() {
  rm -f "$tmp/run.db"
  # bpftrace follows its own child: no shell between them.
  unshare --mount sh -c "mountpoint -q /sys/kernel/tracing || mount -t tracefs none /sys/kernel/tracing
    exec bpftrace -c '$program --quiet run --catalog $tmp/data.cat --no-ceiling --no-probe --no-check --db $tmp/run.db $*' \\
      '$ebpf/loader.bt' '$program'" >"$tmp/seen" 2>&1 || die "$(tail -n 3 "$tmp/seen")"
  sqlite3 -json "$tmp/run.db" 'SELECT reads_submitted AS reads, read_bytes, epoch_ns FROM run' >"$tmp/run.json"
}

agree() { # NAME BATCHES
  "$python" - "$tmp/run.json" "$tmp/seen" "$1" "$2" <<'PY'
import json, re, sys
run = json.load(open(sys.argv[1]))[0]
seen = open(sys.argv[2]).read()
value = lambda name: sum(map(int, re.findall(rf"^@{name}\[\d+\]: (\d+)$", seen, re.M)))
failed = []
def same(what, a, b, allow=0):
    print(f"  {sys.argv[3]}: {what}: {a} and {b}")
    if abs(a - b) > allow:
        failed.append(f"{sys.argv[3]}: {what}: {a} is not {b}")
reads = run["reads"]
same("reads submitted", value("submitted"), reads)
same("reads completed", value("completed"), reads)
same("batches", value("batches"), int(sys.argv[4]))
if not 0 < value("bytes") <= value("asked_bytes") == run["read_bytes"]:
    failed.append(f"bytes: {value('bytes')}, asked {value('asked_bytes')} of {run['read_bytes']}")
waited = value("gate_ns")
print(f"  {sys.argv[3]}: before a full window {waited / 1e6:.1f} ms in {value('gate_waits')} waits")
if sys.argv[3] == "consumer" and not 0 < waited <= run["epoch_ns"]:
    failed.append("a slow consumer, and no wait")
if sys.argv[3] == "alone" and "@gate" in seen and waited > run["epoch_ns"]:
    failed.append("waits longer than the epoch")
sys.exit("\n".join(failed) if failed else 0)
PY
}

followed --order lba --merge file --batch 100
agree alone 15
followed --order random --merge none --batch 50 --compute 5ms --prefetch 1
agree consumer 30
