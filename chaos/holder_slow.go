package chaos

import (
	"context"
	"errors"
	"fmt"
	"lockbench/chaos/proxy"
	"time"
)

// faultHolderSlow delays whatever passes between the holder and its servers, up to beyond the TTL.
var faultHolderSlow = Fault{
	Name: HolderSlow, Doc: "latency and jitter between the holder and its servers, up to beyond the TTL",
	On: OnHolder, Shape: ShapeHold, Proxied: true,
	Params: []Param{
		{Name: "latency_ms", Doc: "of each direction; by default 0.8 x TTL", Min: 0, Max: 600_000},
		{Name: "jitter_ms", Doc: "plus or minus, uniform; by default 0.8 x TTL", Min: 0, Max: 600_000},
	},
	Watch: func(s *Stage) time.Duration { return s.Times.Hold + s.Times.TTL },
	Steps: func(s *Stage) Steps {
		net := func() *proxy.Set { return s.Play().Holder.Net }
		ms := func(name string) time.Duration {
			return time.Duration(s.Param(name, 0.8*float64(s.Times.TTL.Milliseconds())) * float64(time.Millisecond))
		}
		heal := func(context.Context) error {
			if who := s.Play().Holder; who != nil && who.Net != nil {
				who.Net.Heal()
			}
			return nil
		}
		return Steps{
			Inject: func(context.Context) error {
				net().Slow(ms("latency_ms"), ms("jitter_ms"), s.Rand.Uint64())
				return nil
			},
			Felt: func(ctx context.Context) (string, error) {
				if ms("latency_ms")+ms("jitter_ms") == 0 {
					return "no delay was asked for", nil
				}
				ctx, cancel := context.WithTimeout(ctx, s.Times.TTL)
				defer cancel()
				for {
					st := net().Stats()
					if n := st.DelayedRequests + st.DelayedReplies; n > 0 {
						return fmt.Sprintf("%d bytes are under way for %v to %v", n, st.Latency, st.Latency+st.Jitter), nil
					}
					if sleep(ctx, 2*time.Millisecond) == nil {
						continue
					}
					if r := s.Play().Cell.Lock.Remote; r.Expires && r.Renews {
						return "", errors.New("the holder sent nothing")
					}
					return fmt.Sprintf("the proxies delay by %v to %v; who renews nothing sends nothing", st.Latency, st.Latency+st.Jitter), nil
				}
			},
			Recover: heal,
			Cleanup: heal,
		}
	},
}
