package inproc

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"

	"lockbench/lock"
)

// Main is the child: it reads what to do from in, plays the rounds of one lock and reports them on out.
// It returns the process's exit code; goroutines of a round that is stuck are then left behind, so the process
// has to end. It calls exit when in ends before the work does.
func Main(lookup func(string) (lock.Info, error), in io.Reader, out io.Writer, exit func(int)) int {
	r := bufio.NewReaderSize(in, maxLine)
	if err := serve(lookup, r, out, exit); err != nil {
		// The parent reads it, or is gone.
		_ = send(out, report{Rep: repFailed, Text: err.Error()})
		return 1
	}
	return 0
}

func serve(lookup func(string) (lock.Info, error), r *bufio.Reader, out io.Writer, exit func(int)) error {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return fmt.Errorf("read what to do: %w", err)
	}
	s, err := decode[setup](line)
	if err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, r) // whatever ends it, the parent is gone
		exit(1)
	}()
	info, err := lookup(s.Lock)
	if err != nil {
		return fmt.Errorf("look up lock: %w", err)
	}
	caps, err := info.Probe()
	if err != nil {
		return err
	}
	runtime.GOMAXPROCS(s.Procs)
	if err := send(out, report{Rep: repReady}); err != nil {
		return err
	}
	for n := s.First; n < s.First+s.Rounds; n++ {
		// Of each round's own, so that a round is the same whichever process plays it.
		rng := rand.New(rand.NewPCG(s.Seed, uint64(n)))
		p, err := newPlay(s, info, caps, n, rng)
		if err != nil {
			return err
		}
		done := p.run(rng)
		if err := send(out, report{Rep: repRound, Round: &done}); err != nil {
			return err
		}
		if done.Stuck {
			return nil
		}
	}
	return nil
}

// send writes one line, in one write.
func send(out io.Writer, r report) error {
	b, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode report: %w", err)
	}
	if _, err := out.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("send report: %w", err)
	}
	return nil
}
