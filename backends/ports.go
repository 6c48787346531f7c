package backends

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
)

// Bounds of the port numbers that servers get: above those that need rights or are
// well known, below those of outgoing connections (see the package's comment).
const (
	lowestPort = 15_000
	// ephemeralDefault is where IANA's range for outgoing connections begins (RFC 6335, section 6),
	// which macOS and Windows use; Linux says its own, 32768 unless it was changed.
	ephemeralDefault = 49_152
)

// ephemeralLow is where the range of outgoing connections begins here.
func ephemeralLow() int {
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return ephemeralDefault
	}
	low, err := strconv.Atoi(string(bytes.Fields(append(text, " 0"...))[0]))
	if err != nil || low <= lowestPort+1000 {
		return ephemeralDefault // a range that leaves no room below: take our chance
	}
	return low
}

// freePorts returns n different ports of 127.0.0.1 on which nobody listens now. Somebody
// else may take one before its server does: Open then tries again with others.
func freePorts(n int) ([]int, error) {
	high := ephemeralLow()
	var held []net.Listener // held until all are found, so that they differ
	defer func() {
		for _, l := range held {
			_ = l.Close() // it was ours for a moment
		}
	}()
	var out []int
	for range 100 * n {
		if len(out) == n {
			return out, nil
		}
		p := lowestPort + rand.IntN(high-lowestPort)
		l, err := net.Listen("tcp", net.JoinHostPort(localhost, strconv.Itoa(p)))
		if err != nil {
			continue
		}
		held, out = append(held, l), append(out, p)
	}
	if len(out) == n {
		return out, nil
	}
	return nil, fmt.Errorf("find %d free ports between %d and %d", n, lowestPort, high)
}

// localhost is the one address at which servers are reached.
const localhost = "127.0.0.1"

func hostPort(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }
