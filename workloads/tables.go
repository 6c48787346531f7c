package workloads

import (
	"math"
	"math/rand/v2"
	"slices"

	"lockbench/lock/loop"
)

// opTable is the length of the tables of operations and arrival gaps.
const opTable = 1 << 12

// LongestGap is the longest Poisson gap of a table, in means: ln(2 opTable).
const LongestGap = 9.02

// Tables is what one worker's section walks through.
type Tables struct {
	Section, Think []uint32
	Ops            []loop.Op // empty: Lock of the one lock
	GapsNS         []int64   // ns between planned arrivals; empty: closed loop
	OffsetNS       int64     // of the first planned arrival, so that constant arrivals of several workers do not coincide
}

// Tables makes the tables of one worker from the cell's seed. The same
// arguments give the same tables, on every machine.
func (l Load) Tables(worker, workers int, seed uint64) Tables {
	rng := rand.New(rand.NewPCG(seed, uint64(worker)+1))
	t := Tables{Section: l.Section.Table(rng), Think: l.Think.Table(rng)}
	if l.Hog != nil && worker == 0 {
		t.Section = l.Hog.Table(rng)
	}
	if l.Locks > 1 || l.Own || l.ReadPct > 0 || l.TryPct > 0 || l.TimedPct > 0 {
		t.Ops = l.ops(rng)
		for i := range t.Ops {
			if l.Own {
				t.Ops[i].Lock = uint16(worker)
			}
		}
	}
	if l.Arrivals != "" {
		mean := 1e9 * float64(workers) / l.RateOps
		t.GapsNS = gaps(l.Arrivals, mean, rng)
		t.OffsetNS = int64(mean * float64(worker) / float64(workers))
	}
	return t
}

func (l Load) ops(rng *rand.Rand) []loop.Op {
	locks := l.shares()
	ops := make([]loop.Op, opTable)
	for i := range ops {
		ops[i].Lock = locks[i]
	}
	// Kinds are dealt after a shuffle, so that they do not go with locks.
	rng.Shuffle(opTable, func(i, j int) { ops[i], ops[j] = ops[j], ops[i] })
	i := 0
	for _, k := range []struct {
		kind loop.Kind
		pct  float64
	}{{loop.OpRead, l.ReadPct}, {loop.OpTry, l.TryPct}, {loop.OpTimed, l.TimedPct}} {
		for n := int(math.Round(k.pct / 100 * opTable)); n > 0 && i < opTable; n-- {
			ops[i].Kind = k.kind
			i++
		}
	}
	rng.Shuffle(opTable, func(i, j int) { ops[i], ops[j] = ops[j], ops[i] })
	return ops
}

// shares deals the locks over a table by their probabilities, at quantiles
// (i+1/2)/n, so that the shares are right to one entry in the table.
func (l Load) shares() []uint16 {
	cum := make([]float64, l.Locks)
	sum := 0.0
	for k := range cum {
		sum += math.Pow(float64(k+1), -l.Zipf)
		cum[k] = sum
	}
	out := make([]uint16, opTable)
	for i := range out {
		q := (float64(i) + 0.5) / opTable * sum
		k, _ := slices.BinarySearch(cum, q)
		out[i] = uint16(min(k, l.Locks-1))
	}
	return out
}

func gaps(kind string, meanNS float64, rng *rand.Rand) []int64 {
	if kind == "constant" {
		// Rounding a gap to a nanosecond would change high rates; the table
		// spreads the remainders.
		out := make([]int64, opTable)
		prev := 0.0
		for i := range out {
			next := math.Round(float64(i+1) * meanNS)
			out[i] = int64(next - prev)
			prev = next
		}
		return out
	}
	out := make([]int64, opTable)
	for i := range out {
		out[i] = int64(math.Round(-math.Log(1-(float64(i)+0.5)/opTable) * meanNS))
	}
	rng.Shuffle(opTable, func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}
