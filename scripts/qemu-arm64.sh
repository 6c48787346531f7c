#!/usr/bin/env bash
# Runs the conformance suite and the tests of the processor stubs as arm64
# programs under qemu-user. That executes every stub and loop; it proves nothing
# about weak memory order: qemu on an amd64 machine does not reorder as weakly as
# an arm64 processor may. In one respect it is even weaker than that. It
# translates STLR and LDAR, which arm64 keeps in order, to plain moves, so that
# a load may pass an earlier store; the store-buffering test of lock/arch shows
# it on two processors. Everything therefore runs on one, where a thread sees
# its own stores and a switch between threads drains the rest.
set -euo pipefail
cd "$(dirname "$0")/.."
qemu=$(command -v qemu-aarch64 || command -v qemu-aarch64-static || true)
if [ -z "$qemu" ]; then
  echo "skipped: no qemu-aarch64 (Debian: apt-get install qemu-user)"
  [ "${LOCKBENCH_REQUIRE_QEMU:-}" = 1 ] && exit 1
  exit 0
fi
cpu=$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for p in ./lock/arch ./impls/spin ./impls/ticket ./impls/array ./impls/mcs ./impls/clh ./impls/hemlock ./impls/futex ./impls/std ./impls/rw ./impls/classic; do
  name=$(basename "$p")
  CGO_ENABLED=0 GOARCH=arm64 go test -pgo=off -c -o "$dir/$name.test" "$p"
  (cd "$p" && taskset -c "$cpu" "$qemu" "$dir/$name.test" -test.short -test.timeout 10m)
  echo "arm64 $p ok"
done
