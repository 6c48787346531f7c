package linear

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

// lockStep is an operation that surely was done.
type lockStep struct {
	kind          Kind // Acquire or Release
	lease, worker int
	token         uint64
	hasToken      bool
	ret           int64 // return, never for one that is open
}

// lockState is the lock between two operations.
type lockState struct {
	held  bool
	lease int // that holds it
	// token is the largest that was given, if any was.
	token uint64
	given bool
	// floor is a time that has passed: that at which the latest lease which ended by itself may have been
	// over first. What comes after must be able to come after it. The checker compares calls and returns; the ends
	// of leases are not its operations, so their times are kept here.
	floor int64
}

// lockModel is the lock of doc.go. over has the earliest end of each lease that may end without a release that
// was sure, workers whose the leases are; origin is for the descriptions.
func lockModel(over map[int]int64, workers map[int]int, origin int64) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return lockState{} },
		Step: func(state, input, _ any) (bool, any) {
			next, ok := state.(lockState).step(input.(lockStep), over, workers)
			return ok, next
		},
		DescribeOperation: func(input, _ any) string { return input.(lockStep).String() },
		DescribeState:     func(state any) string { return state.(lockState).describe(over, workers, origin) },
		DescribeOperationMetadata: func(m any) string {
			s, _ := m.(string)
			return s
		},
	}
}

func (s lockState) step(in lockStep, over map[int]int64, workers map[int]int) (lockState, bool) {
	if in.kind == Release {
		ok := s.held && s.lease == in.lease && workers[s.lease] == in.worker && in.ret >= s.floor
		s.held, s.lease = false, 0
		return s, ok
	}
	if s.held {
		end, ends := over[s.lease]
		if !ends {
			return s, false
		}
		s.floor = max(s.floor, end)
	}
	if in.ret < s.floor || in.hasToken && s.given && in.token <= s.token {
		return s, false
	}
	s.held, s.lease = true, in.lease
	if in.hasToken {
		s.given, s.token = true, in.token
	}
	return s, true
}

func (in lockStep) String() string {
	s := fmt.Sprintf("%s by worker %d, lease %d", in.kind, in.worker, in.lease)
	if in.hasToken {
		s += fmt.Sprintf(", token %d", in.token)
	}
	return s
}

func (s lockState) describe(over map[int]int64, workers map[int]int, origin int64) string {
	text := "the lock is free"
	if s.held {
		text = fmt.Sprintf("worker %d has it, lease %d", workers[s.lease], s.lease)
		if end, ends := over[s.lease]; ends {
			text += ", not over before " + ms(end, origin)
		}
	}
	if s.given {
		text += fmt.Sprintf("; largest token %d", s.token)
	}
	return text
}
