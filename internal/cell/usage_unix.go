//go:build unix

package cell

import "golang.org/x/sys/unix"

// usage is what the process has used so far.
type usage struct {
	cpuNS                  int64
	voluntary, involuntary int64
}

// readUsage takes about 0.3 us. It is called by the worker that opens or ends
// an interval, because no other goroutine is sure to run at that instant.
func readUsage() usage {
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &r) != nil {
		return usage{}
	}
	return usage{
		cpuNS:       unix.TimevalToNsec(r.Utime) + unix.TimevalToNsec(r.Stime),
		voluntary:   int64(r.Nvcsw),
		involuntary: int64(r.Nivcsw),
	}
}

// minus is what was used between v and u. The kernel sums over threads without a
// common instant, so that a thread that ends meanwhile can make a sum smaller
// than an earlier one (1 in 1000 repetitions, by 1 switch): that is 0.
func (u usage) minus(v usage) usage {
	return usage{max(0, u.cpuNS-v.cpuNS), max(0, u.voluntary-v.voluntary), max(0, u.involuntary-v.involuntary)}
}

func (u usage) plus(v usage) usage {
	return usage{u.cpuNS + v.cpuNS, u.voluntary + v.voluntary, u.involuntary + v.involuntary}
}
