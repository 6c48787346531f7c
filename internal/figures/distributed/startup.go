package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lockbench/internal/figure"
)

// startup times Open of each target's topology, from the call to servers that serve.
func startup(ctx context.Context, b *bench, starts int, targets []figure.Figure) (figure.Report, error) {
	var rep figure.Report
	if err := b.servers.rest(); err != nil {
		return rep, err
	}
	for _, t := range targets {
		topology := t.Name[len(startPrefix):]
		b.say("start: %s, %d times", topology, starts)
		var secs []float64
		var err error
		for range starts {
			var s float64
			if s, err = b.start(ctx, topology); err != nil {
				break
			}
			secs = append(secs, s)
		}
		switch {
		case ctx.Err() != nil:
			return rep, ctx.Err()
		case err != nil:
			rep.Figures = append(rep.Figures, t.Failed(err))
		default:
			rep.Figures = append(rep.Figures, t.Worst(secs))
		}
	}
	return rep, nil
}

const startPrefix = "start-"

// start opens and closes the topology, and returns how many seconds it took to open.
func (b *bench) start(ctx context.Context, topology string) (float64, error) {
	begun := time.Now()
	c, err := b.servers.open(ctx, topology)
	if err != nil {
		return 0, err
	}
	took := time.Since(begun)
	cctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
	defer cancel()
	if err := c.Close(cctx); err != nil {
		return 0, errors.Join(fmt.Errorf("after %v", took), err)
	}
	return took.Seconds(), nil
}
