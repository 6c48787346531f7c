package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strconv"

	"lockbench/lock"
)

// pgScript is what pg-advisory sends (impls/distributed/postgres): two statements, each a round
// trip. pgbench -M prepared makes :k the parameter $1 of prepared statements.
const pgScript = `SELECT pg_advisory_lock(:k::int8);
SELECT pg_advisory_unlock(:k::int8);
`

// pgKey is some key: a bigint.
const pgKey = "7205759403792793600"

// pgLength is how long one measurement takes: pgbench counts in whole seconds.
const pgLength = "1"

// pgPairs measures the two statements with one client, in pairs a second.
func pgPairs(ctx context.Context, t tool, target lock.Target) (float64, error) {
	host, port, err := net.SplitHostPort(target.Addrs[0])
	if err != nil {
		return 0, fmt.Errorf("address %s: %w", target.Addrs[0], err)
	}
	env := []string{"PGPASSWORD=" + target.Password, "PGSSLMODE=disable", "SCRIPT=" + pgScript}
	// The script comes by a pipe: then it is no matter on whose disk it would be.
	out, err := t.limited(ctx, env, "sh", "-c", `printf '%s' "$SCRIPT" | "$@"`, "sh",
		t.name, "-h", host, "-p", port, "-U", target.User, "-n", "-M", "prepared", "-f", "-", "-c", "1", "-T", pgLength, "-D", "k="+pgKey, target.Database)
	if err != nil {
		return 0, fmt.Errorf("pgbench: %w", err)
	}
	return parsePgbench(out)
}

// tps is "tps = 8163.7 (without initial connection time)", before version 14 "(excluding
// connections establishing)". Other lines of tps count the connecting, too.
var (
	tps      = regexp.MustCompile(`(?m)^tps = ([0-9.]+) \((?:without initial connection time|excluding connections establishing)\)$`)
	pgFailed = regexp.MustCompile(`(?m)^number of failed transactions: ([0-9]+)`)
)

// parsePgbench reads transactions a second from what pgbench printed; one is a pair.
func parsePgbench(out string) (float64, error) {
	if m := pgFailed.FindStringSubmatch(out); m != nil && m[1] != "0" {
		return 0, fmt.Errorf("pgbench: %s transactions failed", m[1])
	}
	m := tps.FindStringSubmatch(out)
	if m == nil {
		return 0, errors.New("pgbench: no tps in its output")
	}
	v, err := strconv.ParseFloat(m[1], 64)
	if err != nil || v <= 0 {
		return 0, fmt.Errorf("pgbench: %q is no rate", m[1])
	}
	return v, nil
}
