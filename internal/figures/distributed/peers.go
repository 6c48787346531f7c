package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"lockbench/internal/figure"
)

// rivals is a lock of ours and the libraries that send the same commands.
type rivals struct {
	topology, ours string
	peers          []string
	length         time.Duration // of a repetition
}

// figureOf names the figure of a lock against a peer.
func figureOf(ours, peer string) string { return ours + "-vs-" + peer }

// measure runs all of them in one lockbench run, which takes them in a new random order in each
// repetition. Ratios are of pairs a second: above 1, ours is faster.
func (p rivals) measure(ctx context.Context, b *bench, rounds int, targets []figure.Figure) (figure.Report, error) {
	var rep figure.Report
	c, err := b.servers.cluster(ctx, p.topology)
	if err != nil {
		return rep, err
	}
	locks := append([]string{p.ours}, p.peers...)
	for _, n := range []int{1, workers} {
		b.say("%s: %d rounds with %d workers", p.ours, rounds, n)
		// The last --reps counts.
		reps, err := b.lockbench(ctx, c, append(uncontended(strings.Join(locks, ","), 1, n, p.length), "--reps", strconv.Itoa(rounds))...)
		if err != nil {
			return rep, err
		}
		got, err := walls(reps, locks...)
		if err != nil {
			return rep, err
		}
		figs, notes := p.decide(got, n, targets)
		rep.Figures, rep.Notes = append(rep.Figures, figs...), append(rep.Notes, notes...)
	}
	return rep, nil
}

// decide makes figures of the rounds with one worker, and notes of those with several.
func (p rivals) decide(got []values, n int, targets []figure.Figure) (figs, notes []figure.Figure) {
	for i, peer := range p.peers {
		r := per(got, ratio(peer, p.ours)) // of times: the peer's by ours
		if n == 1 {
			figs = append(figs, paired(targets[i], r))
		} else {
			notes = append(notes, paired(figure.Note(fmt.Sprintf("%s-%d", figureOf(p.ours, peer), n), "ratio"), r))
		}
	}
	for _, l := range append([]string{p.ours}, p.peers...) {
		notes = append(notes, figure.Note(fmt.Sprintf("peers-%s-pairs-%d", l, n), "1/s").Median(per(got, func(v values) float64 { return 1e9 / v[l] })))
	}
	return figs, notes
}
