package planted_test

import (
	"strings"
	"testing"

	"lockbench/impls/locktest"
	"lockbench/impls/planted"
	"lockbench/impls/std"
	"lockbench/lock"
)

func catalogue() []lock.Info { return std.Infos() }

// TestConformance: a slow lock is still a lock.
func TestConformance(t *testing.T) {
	infos, err := planted.Parse("mutex=00040,chan=00000", catalogue())
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range infos {
		t.Run(i.Name, func(t *testing.T) { locktest.Run(t, i) })
	}
}

func TestFormatParse(t *testing.T) {
	names := []string{"mutex", "chan"}
	a := planted.Format(names, map[string]uint32{"mutex": 7})
	b := planted.Format(names, map[string]uint32{"mutex": 12345, "chan": planted.MaxExtra})
	if len(a) != len(b) {
		t.Errorf("%q and %q differ in length: the layout of the programs would, too", a, b)
	}
	infos, err := planted.Parse(b, catalogue())
	if err != nil || len(infos) != 2 || infos[0].Name != "planted:mutex" || !strings.Contains(infos[0].Doc, "12345 units") {
		t.Errorf("parse %q: got %+v, %v", b, infos, err)
	}
	for _, i := range infos {
		if err := i.Validate(); err != nil {
			t.Error(err)
		}
	}
	if none, err := planted.Parse("", catalogue()); err != nil || len(none) != 0 {
		t.Errorf("parse nothing: got %v, %v", none, err)
	}
	for _, bad := range []string{"mutex", "mutex=", "mutex=-1", "mutex=100000", "nope=00001", "=5", "mutex=1x"} {
		if got, err := planted.Parse(bad, catalogue()); err == nil {
			t.Errorf("parse %q: got %v, want an error", bad, got)
		}
	}
}
