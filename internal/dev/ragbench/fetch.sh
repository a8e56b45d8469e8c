#!/bin/bash
# Fetch the repositories of the development benchmark, each at its pinned revision and without its history:
#   internal/dev/ragbench/fetch.sh DIR
# They are put into DIR/{name}. A repository that is there at its revision is left as it is. One that cannot be fetched
# is named and left out, which is not a failure: the benchmark says what is missing.
set -euo pipefail
dir=${1:?usage: fetch.sh DIR}
list=$(dirname "$0")/testdata/semble-dev-repos.json
command -v git >/dev/null || { echo "no git: nothing can be fetched" >&2; exit 0; }
mkdir -p "$dir"

# Neither password prompts nor a broken connection may hold this up.
export GIT_TERMINAL_PROMPT=0 GIT_HTTP_LOW_SPEED_LIMIT=1000 GIT_HTTP_LOW_SPEED_TIME=30

# fetch NAME URL REVISION
fetch() {
	local at=$dir/$1
	[ "$(git -C "$at" rev-parse -q --verify HEAD 2>/dev/null)" = "$3" ] && return
	rm -rf "$at.part"
	git init -q "$at.part"
	git -C "$at.part" fetch -q --depth 1 "$2" "$3" || return 1
	git -C "$at.part" -c advice.detachedHead=false -c core.autocrlf=false checkout -q FETCH_HEAD || return 1
	rm -rf "$at"
	mv "$at.part" "$at"
}

field() { sed -n "s/^ *\"$1\": \"\(.*\)\",*$/\1/p" "$list"; }
missing=0 all=0 failed=0
while IFS=$'\t' read -r name url revision; do
	all=$((all + 1))
	# After three failures in a row, do not try further repositories: the host cannot be reached.
	if ((failed < 3)) && error=$(fetch "$name" "$url" "$revision" 2>&1 | tr -d '\0'); then
		failed=0
	elif [ "$(git -C "$dir/$name" rev-parse -q --verify HEAD 2>/dev/null)" != "$revision" ]; then
		((failed < 3)) && echo "$name: cannot be fetched: ${error##*$'\n'}" >&2
		missing=$((missing + 1)) failed=$((failed + 1))
		rm -rf "${dir:?}/$name.part"
	fi
done < <(paste <(field name) <(field url) <(field revision))
((missing == 0)) || echo "the development benchmark runs without $missing of $all repositories: is there a network?" >&2
