#!/usr/bin/env bash
# blksweep paper: the sample compiles, a number changed in the database changes in the PDF, the same
# database gives the same bytes, and rerun.sh makes a table with the same cells.
# Side by side: neither its caches nor its times are looked at, and it changes nothing of the node.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
have_modules numpy matplotlib || skip 'figures need python3-matplotlib'
export BLKSWEEP=$blksweep

# --- a small sweep of real files, with hostile names -----------------------------------------------
# shellcheck disable=SC2016
evil='a $(touch INJECTED) \input{x} %&#_^~{}"`|<>'
make_data "$tmp/my data" 40
printf '%s\n' 'cache = "warm"' 'buffered = true' 'probe = false' 'ceiling = false' 'merge = "none"' \
  '[[cell]]' 'order = ["random", "path"]' >"$tmp/sweep.toml"
call run "$tmp/sweep.toml" --data "$tmp/my data" --db "$tmp/results.db" --disk-label "$evil"
expect_status 0 3
rm "$tmp/sweep.toml"

call paper "$tmp/results.db" -o "$tmp/paper"
expect_status 0
for name in numbers.tex captions.tex methods.tex paper.tex tables/comparison.tex figures/throughput-column.pgf \
  figures/throughput-page.pdf data/cells.csv data/runs.csv data/results.sql data/spec-1.toml README.md; do
  [ -s "$tmp/paper/$name" ] || die "$name is missing"
done
(cd "$tmp/paper" && sha256sum --quiet -c SHA256SUMS) || die 'the sums are not those of the files'
[ "$(wc -l <"$tmp/paper/SHA256SUMS")" = "$(find "$tmp/paper" -type f ! -name SHA256SUMS | wc -l)" ] || die 'a file has no sum'

# A run that ends while figures are drawn is in none of it: all that is written is of one moment.
cp "$tmp/results.db" "$tmp/written.db"
printf '%s\n' '#!/bin/sh' "case \"\$*\" in *-o*) sqlite3 '$tmp/written.db' 'UPDATE run SET epoch_ns = epoch_ns * 2, repeat = 7' ;; esac" \
  'exec /usr/bin/python3 "$@"' >"$tmp/late-python"
chmod +x "$tmp/late-python"
BLKSWEEP_PYTHON=$tmp/late-python call paper "$tmp/written.db" -o "$tmp/written"
expect_status 0
[ "$(sqlite3 "$tmp/written.db" 'SELECT min(repeat) FROM run')" = 7 ] || die 'nobody wrote meanwhile'
diff -r "$tmp/paper" "$tmp/written" >&2 || die 'a paper of two moments of its database'

# The commands again, the experiment file out of the folder; and everything again from the frozen data.
(cd "$tmp" && paper/rerun.sh --to "$tmp/again") 2>"$tmp/said" || die "rerun.sh: $(cat "$tmp/said")"
grep -q 'the same 2 cells' "$tmp/said" || die "rerun.sh says: $(cat "$tmp/said")"
cmp "$tmp/paper/data/cells.txt" "$tmp/again/paper/data/cells.txt"
"$tmp/paper/rerun.sh" --frozen --to "$tmp/frozen" 2>"$tmp/said" || die "rerun.sh --frozen: $(cat "$tmp/said")"
if (mv "$tmp/my data" "$tmp/gone" && "$tmp/paper/rerun.sh" --to "$tmp/none") 2>"$tmp/said"; then
  die 'rerun.sh without data'
fi
grep -q 'DATA_1=FOLDER' "$tmp/said" || die "rerun.sh does not say what it needs: $(cat "$tmp/said")"
sed -i 's/^revision=.*/revision=elsewhen/' "$tmp/again/paper/rerun.sh"
DATA_1=$tmp/gone "$tmp/again/paper/rerun.sh" --to "$tmp/third" 2>"$tmp/said" || die "other place: $(cat "$tmp/said")"
grep -q 'warning: .*elsewhen' "$tmp/said" || die 'another revision is not warned of'
[ -z "$(find "$tmp" -name INJECTED)" ] || die 'a label was run'

# A spec that makes its data makes them again, in a folder of the script's own.
printf '%s\n' "workdir = '$tmp/work'" 'repeats = 2' 'probe = false' 'ceiling = false' '[[data]]' 'name = "small"' \
  'make = { count = 20, size = "4KiB" }' '[[data]]' 'name = "large"' 'make = { count = 30, size = "4KiB" }' \
  '[[cell]]' 'order = ["random", "path"]' >"$tmp/made.toml"
call run "$tmp/made.toml" --db "$tmp/made.db"
expect_status 0
call paper "$tmp/made.db" -o "$tmp/made" --experiment all --width column
expect_status 0
rm -r "$tmp/work" "$tmp/made.toml"
"$tmp/made/rerun.sh" --to "$tmp/made again" 2>"$tmp/said" || die "rerun.sh of a spec: $(cat "$tmp/said")"
[ "$(grep -c running "$tmp/said")" = 1 ] || die 'a spec of two sites is one command'
[ ! -e "$tmp/work" ] || die 'it was made in the folder of the first time'

# One site of several: what is measured again is all of them, and the table that of the same one.
call paper "$tmp/made.db" -o "$tmp/first" --experiment 1 --width column
expect_status 0
rm -r "$tmp/made again"
"$tmp/first/rerun.sh" --to "$tmp/first again" 2>"$tmp/said" || die "rerun.sh of a site: $(cat "$tmp/said")"
rows() { /usr/bin/python3 -c 'import csv, sys; print(sorted(r["samples"] for r in csv.DictReader(open(sys.argv[1]))))' "$1/data/runs.csv"; }
[ "$(rows "$tmp/first again/paper")" = "$(rows "$tmp/first")" ] || die "another site: $(rows "$tmp/first again/paper")"

# --- whose folder -----------------------------------------------------------------------------------
call paper "$tmp/results.db" -o "$tmp/again/paper"
expect_error 1 'rerun.sh was changed by hand'
mkdir "$tmp/other" && touch "$tmp/other/thesis.tex"
call paper "$tmp/results.db" -o "$tmp/other"
expect_error 1 'is not empty'
call paper "$tmp/results.db" -o "$tmp/x" --axis cubic
expect_error 2 '--axis' "'cubic'"
call paper "$tmp/results.db" -o "$tmp/paper" --width column --title on --axis log --font times
expect_status 0
[ ! -e "$tmp/paper/figures/throughput-page.pdf" ] || die 'a figure of an earlier call stays'

# --- the document -----------------------------------------------------------------------------------
command -v pdflatex >/dev/null || skip 'the document needs LaTeX (scripts/install-deps.sh latex); the rest passed'
command -v pdftotext >/dev/null || skip 'needs pdftotext (scripts/install-deps.sh latex); the rest passed'
compile() { (cd "$1" && pdflatex -interaction=nonstopmode -halt-on-error paper.tex >out.txt 2>&1 </dev/null); }
text_of() { pdftotext "$1/paper.pdf" - | tr '\n' ' '; }
compile "$tmp/frozen/paper" || die "hostile names: $(grep -m1 -A3 '^!' "$tmp/frozen/paper/out.txt")"
text_of "$tmp/frozen/paper" | grep -qF 'touch INJECTED' || die 'the label is not in the document'

"$python" "$here/../support/demo_db.py" "$tmp/demo.db" --repeats 5 --cells 3 --incomplete 1 --no-probe
call paper "$tmp/demo.db" -o "$tmp/demo"
expect_status 0
compile "$tmp/demo" || die "the sample: $(grep -m1 -A3 '^!' "$tmp/demo/out.txt")"
! grep -qE '^(Overfull|.*Float too large)' "$tmp/demo/out.txt" || die 'something is wider or taller than its place'
! pdffonts "$tmp/demo/paper.pdf" | grep -q 'Type 3' || die 'a font is a bitmap'
! pdffonts "$tmp/demo/paper.pdf" | awk 'NR > 2' | grep -q ' no  *[a-z]*  *[a-z]*  *[0-9]* *[0-9]*$' || die 'a font is not embedded'
ratio=$(sed -n 's/^\\blkput{lba}{ratio}{\(.*\)}/\1/p' "$tmp/demo/numbers.tex")
call report "$tmp/demo.db" --cells order=lba
[[ $out == *" $ratio ["* ]] || die "the table has another ratio than $ratio"
text_of "$tmp/demo" | grep -qF "$ratio times" || die "the document has no $ratio"
sqlite3 "$tmp/demo.db" "UPDATE run SET epoch_ns = epoch_ns / 3 WHERE cell_id = 3"
call paper "$tmp/demo.db" -o "$tmp/demo" --width column
expect_status 0
compile "$tmp/demo" || die 'the changed sample'
changed=$(sed -n 's/^\\blkput{lba}{ratio}{\(.*\)}/\1/p' "$tmp/demo/numbers.tex")
[ "$changed" != "$ratio" ] || die 'the number is the same'
text_of "$tmp/demo" | grep -qF "$changed times" || die "the document has no $changed"
! text_of "$tmp/demo" | grep -qF "$ratio times" || die "the document still has $ratio"

# Two databases in one document, as docs/paper.md has it.
mkdir "$tmp/both"
for side in A B; do
  "$python" "$here/../support/demo_db.py" "$tmp/$side.db" --repeats 5 --cells 3 --no-probe
  [ "$side" = A ] || sqlite3 "$tmp/$side.db" "UPDATE run SET epoch_ns = epoch_ns / 3 WHERE cell_id = 3"
  call paper "$tmp/$side.db" -o "$tmp/both/$side" --width column
  expect_status 0
done
page() { sed -n '/^.def.blkprefix{A:}.input/,/^On A,/p' "$here/../../docs/paper.md"; }
{
  printf '%s\n' '\documentclass{article}\usepackage{booktabs,tabularx,graphicx,pgf}'
  page | sed '/^$/q'
  printf '%s\n' '\begin{document}'
  page | sed '1,/^$/d'
  printf '%s\n' '\end{document}'
} >"$tmp/both/paper.tex"
compile "$tmp/both" || die "two databases: $(grep -m1 -A3 '^!' "$tmp/both/out.txt")"
ratio_of() { sed -n 's/^\\blkput{lba}{ratio}{\(.*\)}/\1/p' "$tmp/both/$1/numbers.tex"; }
[ "$(ratio_of A)" != "$(ratio_of B)" ] || die 'both have the same ratio'
text_of "$tmp/both" | grep -qF "On A, $(ratio_of A); on B, $(ratio_of B)." || die 'not the ratio of each'

# A name that is not there is an error, never an empty place.
printf '%s\n' '\documentclass{article}\input{numbers}\begin{document}\blk{lba}{ratoi}\end{document}' >"$tmp/demo/paper.tex"
! compile "$tmp/demo" || die 'an unknown name is silent'
grep -q 'nothing is known of .ratoi' "$tmp/demo/out.txt" || die 'the error does not name it'
