#!/usr/bin/env bash
# govulncheck, or a skip with the reason where its database cannot be reached.
set -uo pipefail
cd "$(dirname "$0")/.."
out=$(go run "$1" ./... 2>&1)
code=$?
echo "$out"
if [ $code -ne 0 ] && grep -qiE 'dial tcp|no such host|connection refused|fetching vulnerabilities|i/o timeout|403|proxyconnect|lookup ' <<<"$out"; then
  echo "skipped: the vulnerability database is out of reach"
  exit 0
fi
exit $code
