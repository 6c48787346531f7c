package gate

import (
	"lockbench/results/stat"
)

// firstLook is how many pairs a cell has when it is first looked at. Each next
// look is at twice as many: the interval's width goes with the square root, so
// that looks closer together would spend alpha and learn little.
const firstLook = 16

// A Look is a number of pairs at which a test may decide, and the two-sided
// level of the interval that it decides by.
type Look struct {
	Pairs int     `json:"pairs,omitempty"` // 0 = two files, which are looked at once
	Alpha float64 `json:"alpha"`
}

// A Plan is when each test of a gate looks at its pairs, and at which level.
// Over all tests and looks the levels add up to at most Alpha: the probability
// that any interval of the whole gate misses what it is about is at most that
// (Bonferroni's inequality), whatever the tests and looks have to do with each
// other.
type Plan struct {
	Alpha  float64 `json:"alpha"`                  // of the whole gate
	Tests  int     `json:"tests"`                  // rules by cells
	Budget int     `json:"budget_pairs,omitempty"` // 0 = two files
	// Looks are in order; none if Budget pairs can prove nothing at this level.
	Looks []Look `json:"looks"`
}

// NewPlan plans looks at 16, 32, 64, ... pairs and at budget. Each test has an
// equal share of alpha, and each of its looks an equal share of that. A look
// with fewer pairs than could prove anything at its level leaves its share to
// the later ones.
//
// The equal split over looks is an alpha-spending function in the sense of
// K.K.G. Lan, D.L. DeMets, "Discrete sequential boundaries for clinical
// trials", Biometrika 70 (1983) 659-663, in steps of Bonferroni, near to
// S.J. Pocock, Biometrika 64 (1977) 191-199. The usual alternative, P.C.
// O'Brien, T.R. Fleming, Biometrics 35 (1979) 549-556, spends next to nothing
// early: at the first of five looks, with 1/16 of the pairs, it asks for a z
// of about 4 times the final one, which no rank test of 16 pairs can give
// (their smallest p is 2/2^16). Here most tests have an early answer, a large
// slowdown or a lock that nobody touched, and pairs cost time; what is paid
// is at the last look a z of 3.7 instead of 3.3 (alpha 0.001, five looks), 28 %
// more pairs for the few changes that are about as large as the threshold.
// The exact boundaries for equal levels would save a tenth of that, and need
// the joint distribution of the looks, which Bonferroni does not.
func NewPlan(alpha float64, tests, budget int) Plan {
	p := Plan{Alpha: alpha, Tests: tests, Budget: budget}
	if tests < 1 || budget < 1 {
		return p
	}
	var at []int
	for n := firstLook; n < budget; n *= 2 {
		at = append(at, n)
	}
	at = append(at, budget)
	share := alpha / float64(tests)
	for i := range at {
		level := share / float64(len(at)-i)
		if stat.MinSignedRank(level) > at[i] {
			continue
		}
		for _, n := range at[i:] {
			p.Looks = append(p.Looks, Look{n, level})
		}
		break
	}
	return p
}

// MinBudget is the smallest budget, in pairs, with which a test can prove
// anything.
func (p Plan) MinBudget() int { return stat.MinSignedRank(p.Alpha / float64(max(1, p.Tests))) }

// unspent is the alpha of the looks at more than n pairs.
func (p Plan) unspent(n int) float64 {
	sum := 0.0
	for _, l := range p.Looks {
		if l.Pairs > n {
			sum += l.Alpha
		}
	}
	return sum
}

// next is the smallest number of pairs above n at which the plan looks; 0 if
// there is none.
func (p Plan) next(n int) int {
	for _, l := range p.Looks {
		if l.Pairs > n {
			return l.Pairs
		}
	}
	return 0
}
