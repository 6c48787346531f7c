package results

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Marks that the statistics add to the flags of the samples.
const (
	MarkNoisy    = "noisy"    // CV of the throughput above NoisyCV
	MarkBimodal  = "bimodal"  // the repetitions fall into two groups
	MarkOutliers = "outliers" // repetitions far from the others; see Outlier
	MarkFew      = "few"      // fewer than MinReps repetitions: no interval
	MarkStarved  = "starved"  // a worker got nothing
	// MarkProbeDiffers: the probe interval, where latencies come from, ran at
	// another speed than the throughput interval.
	MarkProbeDiffers = "probe-differs"
	MarkIncomplete   = "incomplete" // repetitions that were planned are not in the file
)

// NoisyCV is the coefficient of variation above which repetitions are called
// noisy: a difference of 10 % between two locks is then within the noise of one.
const NoisyCV = 0.10

// The speeds of the two intervals of a repetition differ when one is more than
// probeFactor times the other, by more than the probe loop itself costs, and the
// faster one did enough to have a speed.
const (
	probeFactor = 2
	probeMinOps = 100
	probeOwnNS  = 20.0
)

func probeDiffers(s *Sample) bool {
	if s.ElapsedNS <= 0 || s.ProbeElapsedNS <= 0 || max(s.Ops, s.ProbeOps) < probeMinOps {
		return false
	}
	through, probe := float64(s.Ops)/float64(s.ElapsedNS), float64(s.ProbeOps)/float64(s.ProbeElapsedNS)
	if through <= probeFactor*probe && probe <= probeFactor*through {
		return false
	}
	// The probe loop itself costs some nanoseconds an operation: the order log,
	// the count of samples. On a lock of as many nanoseconds that is a factor,
	// and no other behaviour.
	return min(through, probe) == 0 || math.Abs(1/through-1/probe) > probeOwnNS
}

// A Mark is a doubt about a cell: in K of its N repetitions, or about the cell
// as a whole when K equals N.
type Mark struct {
	Word   string `json:"word"`
	K      int    `json:"k"`
	N      int    `json:"n"`
	Detail string `json:"detail,omitempty"` // of the first repetition that had one
}

// String is "word" or "word k/n".
func (m Mark) String() string {
	if m.K == m.N {
		return m.Word
	}
	return fmt.Sprintf("%s %d/%d", m.Word, m.K, m.N)
}

// FlagWord is the first part of a flag "word: detail".
func FlagWord(flag string) string {
	word, _, _ := strings.Cut(flag, ":")
	return strings.TrimSpace(word)
}

// flagMarks counts the flags of samples, each word once a sample, in order of
// the word.
func flagMarks(rows []row) []Mark {
	at := map[string]*Mark{}
	for i := range rows {
		if len(rows[i].flags) == 0 {
			continue
		}
		seen := map[string]bool{}
		for _, flag := range rows[i].flags {
			word, detail, _ := strings.Cut(flag, ":")
			word = strings.TrimSpace(word)
			if word == "" || seen[word] {
				continue
			}
			seen[word] = true
			if at[word] == nil {
				at[word] = &Mark{Word: word, N: len(rows), Detail: strings.TrimSpace(detail)}
			}
			at[word].K++
		}
	}
	marks := make([]Mark, 0, len(at))
	for _, m := range at {
		marks = append(marks, *m)
	}
	slices.SortFunc(marks, func(a, b Mark) int { return strings.Compare(a.Word, b.Word) })
	return marks
}
