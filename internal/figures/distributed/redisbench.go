package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/backends"
)

// redisBench measures single commands with redis-benchmark, on a server of our own.
type redisBench struct {
	tool       tool
	host, port string
	client     *redis.Client
	sha        string  // of release
	length     float64 // of one measurement, in seconds
	// requests that one measurement takes, by what it is: by the rate seen last.
	requests map[string]int
}

// What a pair of lock `redis` without fence consists of (impls/distributed/redis): SET key token NX
// PX ttl, and the script that deletes the key if it holds the token, by its hash.
const (
	ttlMS = "10000"            // lockbench's default
	token = "0123456789abcdef" // as long as the lock's: 16 bytes
	// keyHead and random (or fixed) are together as long as a key of lockbench: its prefix has a run's
	// identity of some 27 bytes, and the number of a cell.
	keyHead = "lockbench/figures-figures-figu"
	random  = "__rand_int__" // redis-benchmark puts 12 digits in its place
	fixed   = "000000000000"
	release = `
if redis.call('GET', KEYS[1]) == ARGV[1] then
	return redis.call('DEL', KEYS[1])
end
return 0`
)

func newRedisBench(ctx context.Context, t tool, c *backends.Cluster, length time.Duration) (*redisBench, error) {
	addr := c.Target().Addrs[0]
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("address %s: %w", addr, err)
	}
	r := &redisBench{tool: t, host: host, port: port, length: length.Seconds(), requests: map[string]int{},
		client: redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, ReadTimeout: toolLimit})}
	// An unknown script would be measured as the error that it answers with.
	if r.sha, err = r.client.ScriptLoad(ctx, release).Result(); err != nil {
		return nil, errors.Join(fmt.Errorf("load the script: %w", err), r.client.Close())
	}
	return r, nil
}

func (r *redisBench) close() error { return r.client.Close() }

// commands of a measurement: of requests that come to nothing, because the key is taken or
// missing, or of requests that each take a key that is free, or delete one that is there.
func (r *redisBench) set(key string) []string { return []string{"SET", key, token, "NX", "PX", ttlMS} }
func (r *redisBench) eval(key string) []string {
	return []string{"EVALSHA", r.sha, "1", key, token}
}

// spread is by how many times the keys outnumber the requests where each is to meet a key
// of its own: one in 2*spread meets one that was met before.
const spread = 10

// rate measures a command over so many connections, in requests a second.
func (r *redisBench) rate(ctx context.Context, what string, clients int, fresh bool, command func(key string) []string) (float64, error) {
	n := r.requests[what]
	if n == 0 {
		n = 1000 // of the first measurement, which only says how many there should be
	}
	key, keys := keyHead+fixed, 0
	if fresh {
		key, keys = keyHead+random, spread*n
	}
	// Whatever was measured before: the first SET meets no key, and a script the keys that are filled in.
	if err := r.client.FlushAll(ctx).Err(); err != nil {
		return 0, fmt.Errorf("empty the server: %w", err)
	}
	argv := command(key)
	if fresh && argv[0] == "EVALSHA" {
		if err := r.fill(ctx, keys); err != nil {
			return 0, err
		}
	}
	flags := []string{r.tool.name, "-h", r.host, "-p", r.port, "-c", strconv.Itoa(clients), "-n", strconv.Itoa(n), "--csv"}
	if keys > 0 {
		flags = append(flags, "-r", strconv.Itoa(keys))
	}
	out, err := r.tool.limited(ctx, nil, append(flags, argv...)...)
	if err != nil {
		return 0, fmt.Errorf("redis-benchmark: %w", err)
	}
	perSecond, err := parseRedisBenchmark(out)
	if err != nil {
		return 0, err
	}
	first := r.requests[what] == 0
	r.requests[what] = max(1000, int(perSecond*r.length))
	if first {
		return r.rate(ctx, what, clients, fresh, command)
	}
	return perSecond, nil
}

// fillScript makes ARGV[2] keys from ARGV[1] on, as -r of redis-benchmark numbers them.
const fillScript = `
for i = ARGV[1], ARGV[1] + ARGV[2] - 1 do
	redis.call('SET', KEYS[1] .. string.format('%012d', i), ARGV[3], 'PX', ARGV[4])
end`

func (r *redisBench) fill(ctx context.Context, keys int) error {
	const step = 10000 // a script blocks the server
	for from := 0; from < keys; from += step {
		err := r.client.Eval(ctx, fillScript, []string{keyHead}, from, min(step, keys-from), token, "600000").Err()
		if err != nil && !errors.Is(err, redis.Nil) {
			return fmt.Errorf("fill the server with keys: %w", err)
		}
	}
	return nil
}

// parseRedisBenchmark reads what redis-benchmark --csv printed of one command: a header (since
// version 7) and "COMMAND","REQUESTS A SECOND",... It counts requests by a clock of
// milliseconds.
func parseRedisBenchmark(out string) (float64, error) {
	r := csv.NewReader(strings.NewReader(out))
	r.FieldsPerRecord, r.LazyQuotes = -1, true
	rate := math.NaN()
	for {
		rec, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return 0, fmt.Errorf("redis-benchmark: read its output: %w", err)
		}
		if len(rec) < 2 || rec[1] == "rps" {
			continue
		}
		v, err := strconv.ParseFloat(rec[1], 64)
		switch {
		case err != nil:
			return 0, fmt.Errorf("redis-benchmark: %q is no rate", rec[1])
		case !math.IsNaN(rate):
			return 0, errors.New("redis-benchmark: more than one command in its output")
		}
		rate = v
	}
	if !(rate > 0) || math.IsInf(rate, 1) {
		return 0, errors.New("redis-benchmark: no rate in its output")
	}
	return rate, nil
}
