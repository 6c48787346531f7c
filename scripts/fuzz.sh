#!/usr/bin/env bash
# Runs each fuzz target for FUZZTIME.
set -euo pipefail
cd "$(dirname "$0")/.."
git grep -hoE '^func Fuzz[A-Za-z0-9_]+' -- '*_test.go' >/dev/null
for f in $(git grep -lE '^func Fuzz' -- '*_test.go'); do
  for t in $(grep -hoE '^func Fuzz[A-Za-z0-9_]+' "$f" | sed 's/func //'); do
    echo "== $t (./$(dirname "$f"))"
    go test -run '^$' -fuzz "^$t\$" -fuzztime "${FUZZTIME:-20s}" "./$(dirname "$f")"
  done
done
