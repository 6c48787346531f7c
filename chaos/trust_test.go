package chaos

import (
	"slices"
	"strings"
	"testing"

	"lockbench/results"
)

// TestDistrust: a control that is to come out as it cannot makes all verdicts unknown, whenever they were reached; and no
// verdict is told before the controls have theirs.
func TestDistrust(t *testing.T) {
	t.Parallel()
	good := cellOf(t, "control-ttl", faultNone, Careful)
	bad := cellOf(t, "planted-twice", faultNone, Careful)
	r := newRig(t, good, bad)
	control := cellOf(t, "control-perfect", faultNone, Careful)
	control.Control, control.Want, control.Rounds = true, results.VerdictUnsafe, 2
	r.o.Controls = []*Cell{control}
	all, err := r.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if v := r.of(all, control); v.Verdict != results.VerdictSafe || v.Agrees {
		t.Fatalf("the control: got %s, %t", v.Verdict, v.Agrees)
	}
	for c, saw := range map[*Cell]string{good: results.VerdictSafe, bad: results.VerdictUnsafe} {
		v := r.of(all, c)
		if v.Verdict != results.VerdictUnknown || v.Agrees || v.AtMost != nil ||
			!strings.Contains(v.Reason, "control-perfect") || !strings.Contains(v.Reason, "what it saw is "+saw) {
			t.Errorf("%s: got %s (%s), want unknown, and that it was %s", c.Name(), v.Verdict, v.Reason, saw)
		}
		if err := v.Validate(); err != nil {
			t.Errorf("%s: %v", c.Name(), err)
		}
	}
	if i := slices.IndexFunc(r.verdicts, func(v results.ChaosVerdict) bool { return v.Control }); i != 0 {
		t.Errorf("the control's verdict was told as number %d", i)
	}
	if sum := Conclude(all); len(sum.FailedControls) != 1 || len(sum.Unknown) != 2 || len(sum.Worse) != 0 {
		t.Errorf("got %+v", sum)
	}
}
