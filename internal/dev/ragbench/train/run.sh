#!/usr/bin/env bash
# Trains an embedding table from start to finish: run.sh OUT [PACKAGES]. OUT is a folder for all files, and
# OUT/table.bin the table. PACKAGES bounds how many Debian packages are read; 0, the default, reads all. LEAVE_OUT may
# name a file of texts, {"text": …} on each line, whose code is not used for training: those of benchmarks. It needs Go,
# a Debian system with apt and dpkg-deb, and Python 3 with NumPy and SciPy (python3-numpy and python3-scipy). If those
# two are missing, pip installs them below OUT.
set -euo pipefail
cd "$(dirname "$0")/../../../.."
out=${1:?usage: run.sh OUT [PACKAGES]}
most=${2:-0}
mkdir -p "$out/debs"
out=$(cd "$out" && pwd)

# Packages that contain source code, in an order that is the same everywhere, so that the first of them are a fair
# sample.
apt-cache pkgnames | grep -E '^(golang-.*-dev|librust-.*-dev|python3-|ruby-|node-|php-)' | LC_ALL=C sort | shuf --random-source=<(yes) > "$out/all"
if ((most > 0)); then head -n "$most" "$out/all"; else cat "$out/all"; fi > "$out/packages"
echo "$(wc -l < "$out/packages") packages of $(wc -l < "$out/all")"
# Packages that are no longer in the archive are left out.
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
