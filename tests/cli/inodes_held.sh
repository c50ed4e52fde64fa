#!/usr/bin/env bash
# A cold run whose files' inodes others keep in memory says so, with their number and who it is.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
# shellcheck source=tests/cli/loop_helpers.bash
. "$(dirname "$0")/loop_helpers.bash"

own_disk 100M
data=$loopfs_mount/data
make_data "$data" 100
quiet=(--data "$data" --no-probe --no-ceiling --json)

cat >"$tmp/hold.py" <<'END'
import mmap, os, sys, time
kept = []
files = sorted(os.path.join(f, n) for f, _, names in os.walk(sys.argv[2]) for n in names)
for path in files[:10]:
    fd = os.open(path, os.O_RDONLY)
    if sys.argv[1] == "map":
        kept.append(mmap.mmap(fd, 0, prot=mmap.PROT_READ))  # has a descriptor of its own
        os.closerange(3, 64)
open(sys.argv[3], "w").close()
time.sleep(600)
END
holder=
let_go() {
  [ -z "$holder" ] || { kill "$holder" && wait "$holder"; } 2>/dev/null || true
  holder=
}
at_exit let_go
hold() { # HOW FOLDER
  rm -f "$tmp/ready"
  "$python" "$tmp/hold.py" "$1" "$2" "$tmp/ready" &
  holder=$!
  until [ -e "$tmp/ready" ]; do
    kill -0 "$holder" || die 'the holder ended'
    sleep 0.05
  done
}

call run "${quiet[@]}" --cache cold
expect_status 0
expect 'nobody holds a file' "run['inodes_held'] == 0 and not any('stay cached' in w for w in run['warnings'])"
call run "${quiet[@]}" --cache keep
expect 'keep promises nothing' "run['inodes_held'] is None"
call run "${quiet[@]}" --cache cold --order lba --merge device
expect 'who opens no file needs no inode' "run['inodes_held'] is None and not run['incomplete']"

# --- descriptors, mappings, another mount of the same disk -------------------------------------------
mkdir "$tmp/again"
mount "$loopfs_device" "$tmp/again"
at_exit "umount '$tmp/again'"
for way in "open $data" "map $data" "open $tmp/again/data"; do
  read -r how folder <<<"$way"
  hold "$how" "$folder"
  call run "${quiet[@]}" --cache cold
  expect_status 3
  text="inodes of 10 of 100 files stay cached: held open by pid $holder (python3"
  expect "$way: counted and named" "run['inodes_held'] == 10 and '''$text''' in run['incomplete_reason']
    and any('''$text''' in w for w in run['warnings'])"
  call run "${quiet[@]}" --cache cold --pin-inodes
  expect_status 0
  expect "$way: the cell has its own pins" "run['inodes_held'] is None and not run['incomplete']"
  let_go
done
echo 'descriptors and mappings: told'

# --- a pin, whose descriptors are in tables of its threads ---------------------------------------------
pin=held-$$
call cache pin --name "$pin" --inodes "$data"
expect_status 0
at_exit "'$blksweep' --quiet cache unpin '$pin' >/dev/null 2>&1"
call run "${quiet[@]}" --cache cold
expect_status 3
expect 'all of them' "run['inodes_held'] == 100 and
  'not cold: inodes of 100 of 100 files stay cached' in run['incomplete_reason']"
call cache unpin "$pin"
expect_status 0
call run "${quiet[@]}" --cache cold
expect_status 0
expect 'and none afterwards' "run['inodes_held'] == 0"
echo 'a pin: told'
