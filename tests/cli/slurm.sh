#!/usr/bin/env bash
# The scripts of scripts/slurm/ under a Slurm of two nodes on this machine: ranks of both nodes read one epoch in the one order
# that `blksweep plan` says, more tasks are more ranks, and a rank that is killed ends the job by name.
# Side by side: neither caches nor times are looked at, and Slurm is the test's own.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
# shellcheck source=tests/cli/slurm_helpers.bash
. "$(dirname "$0")/slurm_helpers.bash"

[ "$(id -u)" = 0 ] || skip 'needs root for daemons of Slurm'
mpi=$(realpath "$(dirname "$blksweep")/blksweep-mpi") || skip 'blksweep-mpi is not built'
[ -x "$mpi" ] || skip 'blksweep-mpi is not built: scripts/install-deps.sh mpi'
command -v slurmctld slurmd munged >/dev/null || skip 'no Slurm: scripts/install-deps.sh slurm'
scripts=$(realpath "$(dirname "$0")/../../scripts/slurm")
export BLKSWEEP_MPI=$mpi
slurm_up

call dataset make "$tmp/data" --count 203 --size 9KiB
expect_status 0
make_catalog "$tmp/data" "$tmp/data.cat"
call plan "$tmp/data.cat" --order chunked --shuffle full --json
expect_status 0
want=$("$python" -c 'import json, sys; print(json.loads(sys.argv[1])["plans"][0]["emission_hash"])' "$out")

# holds TEXT FILE PYTHON: of `docs`, the lines of a job's answer
holds() {
  "$python" -c '
import json, sys
docs = [json.loads(line) for line in open(sys.argv[1])]
sys.exit(0 if eval("(" + sys.argv[2] + ")") else str(docs)[:2000])' "$2" "$3" || die "$1"
}
answer() { find "$tmp" -maxdepth 1 -name "$1-*.json" | sort -V | tail -1; } # of the newest job

submit_again ranks --nodes=2 --ntasks-per-node=2 --time=5 "$scripts/ranks.sbatch" "$tmp/data" --order chunked --shuffle full --verify
[ "$status" = 0 ] || die "a job of four ranks: $(tail -n 20 "$tmp"/ranks-*.log)"
holds 'four ranks on two nodes' "$(answer ranks)" \
  "docs[0]['complete'] and docs[0]['ranks'] == 4 and docs[0]['joined']['nodes'] == 2 and docs[0]['emission_hash'] == '$want'"
echo 'a job of four ranks on two nodes: complete, in the planned order'

submit_again scaling --nodes=2 --ntasks=4 --cpus-per-task=1 --time=5 "$scripts/scaling.sbatch" "$tmp/data"
[ "$status" = 0 ] || die "scaling: $(tail -n 20 "$tmp"/scaling-*.log)"
holds 'one, two and four tasks' "$(answer scaling)" \
  "[d['ranks'] for d in docs] == [1, 2, 4] and all(d['complete'] for d in docs) and [d['joined']['nodes'] for d in docs] == [1, 2, 2]"
echo 'scaling: 1, 2 and 4 ranks'

# --- a rank that is killed ends the job ------------------------------------------------------------------
(
  for _ in {1..300}; do
    sleep 0.1
    # Its keeper is Slurm's task; the rank is the keeper's child, and the one that reads.
    for pid in $(pgrep -f "$mpi --data $tmp/data --json --epochs 100000"); do
      [ "$(tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null | grep -c '^SLURM_PROCID=1$')" = 1 ] || continue
      [[ $(tr '\0' ' ' <"/proc/$(awk '{ print $4 }' "/proc/$pid/stat")/cmdline") == "$mpi "* ]] || continue
      sleep 1
      kill -KILL "$pid"
      exit
    done
  done
) &
submit --nodes=2 --ntasks-per-node=1 --time=5 "$scripts/ranks.sbatch" "$tmp/data" --epochs 100000 --compute 1ms
wait $! || true
[ "$status" != 0 ] || die 'a rank was killed, and the job was as good'
holds 'the rank is named' "$(answer ranks)" "not docs[0]['complete'] and docs[0]['fault']['rank'] == 1 and len(docs[0]['rows']) == 2"
echo 'a rank that was killed: named, and the job ends'
