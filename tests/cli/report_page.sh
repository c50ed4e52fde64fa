#!/usr/bin/env bash
# The page of a report opens in a browser without an error and shows the lanes of an epoch.
# Side by side: neither its caches nor its times are looked at, and it changes nothing of the node.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
[ -n "$browser" ] || skip "no Chromium to open the page with (scripts/install-deps.sh browser)"
have_modules numpy matplotlib || skip "figures need python3-matplotlib"

# open_page FILE PICTURE HEIGHT: a screenshot; whatever the page complains about is an error.
open_page() {
  local flags=(--headless --no-sandbox --disable-gpu --disable-quic --no-first-run
    --disable-background-networking --disable-component-update --disable-sync
    --disable-dev-shm-usage --hide-scrollbars)
  timeout 120 "$browser" "${flags[@]}" --user-data-dir="$tmp/browser" --enable-logging=stderr \
    --screenshot="$2" --window-size="1200,$3" "file://$1" 2>"$tmp/log" >/dev/null ||
    die "the browser failed: $(tail -n 3 "$tmp/log")"
  [ -s "$2" ] || die "no picture: $(tail -n 3 "$tmp/log")"
  if grep -E 'CONSOLE|Refused to|ERR_' "$tmp/log"; then
    die "the page complains"
  fi
}

# Only the section of the lanes, so that their colours are nobody else's.
only_lanes() {
  "$python" - "$1" >"$2" <<'PY'
import re
import sys

text = open(sys.argv[1], encoding="utf-8").read()
sections = re.findall(r"<section>.*?</section>\n?", text, re.DOTALL)
lanes = [s for s in sections if 'aria-label="lanes"' in s]
assert len(lanes) == 1, f"{len(lanes)} sections with lanes"
print(text[:text.index("<section>")] + lanes[0] + "</body></html>")
PY
}

# check PICTURE [COLOUR...]: no blank picture, and at least 200 points of each colour.
check() {
  "$python" - "$@" <<'PY'
import sys

import matplotlib
matplotlib.use("Agg")
import numpy
from matplotlib import image

points = (image.imread(sys.argv[1])[:, :, :3] * 255).round().astype(int)
inked = (points.min(axis=2) < 200).mean()
assert inked > 0.01, f"{inked:.2%} of the picture is not white"
for colour in sys.argv[2:]:
    wanted = [int(colour[i:i + 2], 16) for i in (1, 3, 5)]
    found = int((abs(points - wanted).max(axis=2) <= 6).sum())
    assert found >= 200, f"{found} points of {colour}"
PY
}

"$python" "$here/../support/demo_db.py" "$tmp/results.db" --consumer --cells 3
call report "$tmp/results.db" -o "$tmp/report"
expect_status 0
for name in lanes utilisation; do
  for kind in pdf svg png txt; do
    [ -s "$tmp/report/figures/$name.$kind" ] || die "figures/$name.$kind is missing"
  done
done
open_page "$tmp/report/report.html" "$tmp/page.png" 7800
check "$tmp/page.png" || die "the page is empty"
only_lanes "$tmp/report/report.html" "$tmp/lanes.html"
open_page "$tmp/lanes.html" "$tmp/lanes.png" 900
mapfile -t colours < <("$python" -c 'import sys
sys.path.insert(0, sys.argv[1])
import lanes
for lane in ("read", "copy", "compute"):
    print(lanes.COLOURS[lane][0])' "$here/../../scripts/figures")
[ ${#colours[@]} = 3 ] || die "lanes have no colours"
check "$tmp/lanes.png" "${colours[@]}" || die "the lanes are not there"
