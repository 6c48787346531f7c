// Package near finds names that a mistyped one may have meant.
package near

import (
	"fmt"
	"slices"
	"strings"
)

// UnknownError is a name that nothing has.
type UnknownError struct {
	What string // "lock", "workload"
	Name string
	Near []string // may be empty
}

func (e *UnknownError) Error() string { return fmt.Sprintf("unknown %s %q", e.What, e.Name) }

// Hint says what may have been meant.
func (e *UnknownError) Hint() string {
	list := "lockbench list " + e.What + "s"
	if len(e.Near) == 0 {
		return "see: " + list
	}
	return "did you mean " + strings.Join(e.Near, ", ") + "? see: " + list
}

// Names returns up to five of names that are near name, nearest first: at most
// a third of its letters away, or with it as a part. Capital letters count as
// small ones.
func Names(name string, names []string) []string {
	name = strings.ToLower(name)
	type scored struct {
		name string
		d    int
	}
	var out []scored
	for _, n := range names {
		low := strings.ToLower(n)
		d := distance(name, low)
		if len(name) >= 2 && (strings.Contains(low, name) || strings.Contains(name, low)) {
			d = min(d, 1)
		}
		if d <= max(1, (len(name)+2)/3) {
			out = append(out, scored{n, d})
		}
	}
	slices.SortStableFunc(out, func(a, b scored) int { return a.d - b.d })
	var res []string
	for _, s := range out[:min(5, len(out))] {
		res = append(res, s.name)
	}
	return res
}

// distance is the optimal string alignment distance: insertions, deletions,
// substitutions and swaps of neighbours.
func distance(a, b string) int {
	prev2 := make([]int, len(b)+1)
	prev := make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur := make([]int, len(b)+1)
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev = prev, cur
	}
	return prev[len(b)]
}
