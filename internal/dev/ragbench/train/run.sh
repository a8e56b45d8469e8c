#!/usr/bin/env bash
# Trains an embedding table from beginning to end: run.sh OUT [PACKAGES]. OUT is a folder for all that is made,
# and OUT/table.bin the table. PACKAGES bounds how many Debian packages are read; 0, the default, reads all.
# LEAVE_OUT may name a file of texts, {"text": …} a line, whose code is not trained on: those of benchmarks.
# Needs Go, a Debian system with apt and dpkg-deb, and Python 3 with NumPy and SciPy (python3-numpy and
# python3-scipy); where they are missing, pip installs them below OUT.
set -euo pipefail
cd "$(dirname "$0")/../../../.."
out=${1:?usage: run.sh OUT [PACKAGES]}
most=${2:-0}
mkdir -p "$out/debs"
out=$(cd "$out" && pwd)

# Packages that carry source code, in an order that is the same everywhere, so that a part of them is a fair one.
apt-cache pkgnames | grep -E '^(golang-.*-dev|librust-.*-dev|python3-|ruby-|node-|php-)' | LC_ALL=C sort | shuf --random-source=<(yes) > "$out/all"
if ((most > 0)); then head -n "$most" "$out/all"; else cat "$out/all"; fi > "$out/packages"
echo "$(wc -l < "$out/packages") packages of $(wc -l < "$out/all")"
# A package that is gone from the archive by now is left out.
(cd "$out/debs" && xargs -n 20 apt-get download -q < "$out/packages" > ../download.log 2>&1) || true
find "$out/debs" -name '*.deb' | LC_ALL=C sort > "$out/list"
[ -s "$out/list" ] || { echo "no package could be downloaded; see $out/download.log" >&2; exit 1; }

CGO_ENABLED=0 go build -C internal/dev -o "$out/train" ./ragbench/train
xargs "$out/train" pairs -out "$out/pairs.jsonl" < "$out/list"
"$out/train" tokens -in "$out/pairs.jsonl" -out "$out/tokens" ${LEAVE_OUT:+-leave-out "$LEAVE_OUT"}

python=
for candidate in python3 /usr/bin/python3; do
	if [ -z "$python" ] && "$candidate" -c 'import numpy, scipy' 2>/dev/null; then python=$candidate; fi
done
if [ -z "$python" ]; then
	python3 -m venv "$out/venv"
	"$out/venv/bin/pip" install -q numpy scipy
	python=$out/venv/bin/python
fi
"$python" internal/dev/ragbench/train/train.py "$out/tokens" "$out/table.bin"
ls -l "$out/table.bin"
