package actor

import (
	"fmt"
	"slices"
)

// what a command may have and must have.
type form struct {
	do     string
	target bool     // it needs one
	key    bool     // it needs one
	ttl    bool     // Options.TTL must be above 0
	points []string // at which it may be told to stand
}

var forms = []form{
	{do: DoAcquire, key: true, ttl: true, points: []string{PointSent}},
	{do: DoCancel},
	{do: DoDial, target: true},
	{do: DoFinish},
	{do: DoGo},
	{do: DoHangup},
	{do: DoProbe, key: true, ttl: true},
	{do: DoRelease, points: []string{PointRelease}},
	{do: DoUpdate, key: true, points: []string{PointWrite, PointSent}},
	{do: DoValue, key: true},
	{do: DoWork, points: []string{PointAcquired, PointWrite}},
}

// policies are those of DoWork.
var policies = []string{Careful, Careless, Protected}

// maxKey bounds the name of a key, in bytes.
const maxKey = 256

// check returns what is wrong with the command whatever the state of its actor, or nil.
func (c Command) check() error {
	i := slices.IndexFunc(forms, func(f form) bool { return f.do == c.Do })
	if i < 0 {
		return fmt.Errorf("%q is no command", clip(c.Do, 40))
	}
	f := forms[i]
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("%s %d: %w", c.Do, c.ID, fmt.Errorf(format, args...))
	}
	switch {
	case c.ID < 0:
		return wrong("the command's number is below 0")
	case c.Actor < 0 || c.Actor >= MaxActors:
		return wrong("actor %d: want 0 to %d", c.Actor, MaxActors-1)
	case f.target && c.Target == nil:
		return wrong("no target")
	case f.target && (c.Target.TTL <= 0 || c.Target.DialTimeout <= 0 || c.Target.Workers < 1):
		return wrong("target: ttl %v, dial timeout %v, %d workers: want all above 0", c.Target.TTL, c.Target.DialTimeout, c.Target.Workers)
	case f.key && (c.Key == "" || len(c.Key) > maxKey):
		return wrong("a key of %d bytes: want 1 to %d", len(c.Key), maxKey)
	case f.ttl && c.Options.TTL <= 0:
		return wrong("options: ttl %v: want above 0", c.Options.TTL)
	case c.LimitNS < 0 || c.EveryNS < 0 || c.MarginNS < 0:
		return wrong("limit %d ns, every %d ns, margin %d ns: want none below 0", c.LimitNS, c.EveryNS, c.MarginNS)
	case c.Do == DoWork && !slices.Contains(policies, c.Policy):
		return wrong("policy %q: want one of %q", clip(c.Policy, 40), policies)
	case c.Point != "" && !slices.Contains(f.points, c.Point):
		return wrong("point %q: want none or one of %q", clip(c.Point, 40), f.points)
	}
	return nil
}
