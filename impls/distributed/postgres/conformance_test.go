package postgres

import (
	"context"
	"testing"

	"lockbench/backends/backendtest"
	"lockbench/impls/locktest/leasertest"
	"lockbench/lock"
)

func TestConformance(t *testing.T) {
	for _, in := range Infos() {
		var opts []leasertest.Option
		if in.Name == "pg-advisory-pooled" {
			opts = append(opts,
				leasertest.Breaks("try", "the holder's connection is in the pool: who gets it is granted the lock, too"),
				// It would be waited for until the guard ends.
				leasertest.Without("successor", "nobody looks after a connection in a pool: its end is not noticed; see careless_test.go"))
			for _, check := range []string{"exclusion", "timeout", "cancel", "process"} {
				opts = append(opts, leasertest.Without(check, "whether it breaks this depends on who gets which connection; see careless_test.go"))
			}
		}
		t.Run(in.Name, func(t *testing.T) {
			leasertest.Run(t, in, func(t *testing.T) lock.Target { return backendtest.Target(t, "postgres") }, opts...)
		})
	}
}

// BenchmarkPair is a free lock acquired and released; its counterpart is
// pgbench -M prepared with the same two statements.
func BenchmarkPair(b *testing.B) {
	for _, name := range leasers {
		b.Run(name, func(b *testing.B) {
			l := leaser(b, name, target(b))
			ctx := context.Background()
			b.ReportAllocs()
			for b.Loop() {
				le, err := l.Acquire(ctx, "k", options)
				if err != nil {
					b.Fatal(err)
				}
				if err := le.Release(ctx); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
