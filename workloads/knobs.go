package workloads

import (
	"encoding"
	"fmt"
	"reflect"
	"strconv"
	"time"
)

// Knob is one setting of a workload: a flag on the command line and a key in
// a YAML file.
type Knob struct{ Name, Value, Help string }

// Knobs returns all knobs but the number of workers, which is a flag of the
// run, in the order of help texts.
func Knobs() []Knob {
	return []Knob{
		{"section", "DIST", "section length: 200, uniform:100-300, exp:200 or bimodal:100,20000,1 in work units, or with ns, us, ms"},
		{"think", "DIST", "think time between operations, same notation"},
		{"read-lines", "N", "cache lines of the lock's data read inside a section"},
		{"write-lines", "N", "cache lines written inside a section"},
		{"hog", "DIST", "section length of worker 0, if it is to be a hog"},
		{"reads", "PCT", "percent of operations that are read sections"},
		{"try", "PCT", "percent of operations that use TryLock"},
		{"timed", "PCT", "percent of operations that use LockFor"},
		{"timed-wait", "DURATION", "how long timed acquisitions wait"},
		{"locks", "N", "number of locks"},
		{"choice", "CHOICE", "which lock: uniform or zipf:EXPONENT"},
		{"keys", "KEYS", "locks and choice in one: hot, own (one a worker), uniform:N or zipf:N:EXPONENT"},
		{"order", "ORDER", "of the two keys of a transfer: sorted, or as-given, which deadlocks"},
		{"phases", "LIST", "load phases PERCENT:LENGTH,...: percent of the workers active, relative length"},
		{"arrivals", "SCHEDULE", "closed, or constant:RATE or poisson:RATE for an open loop, operations a second in all"},
	}
}

// field returns the field that the knob sets. Fields are found by their YAML
// key, so that there is one list of names.
func (s *Spec) field(knob string) (reflect.Value, bool) {
	v := reflect.ValueOf(s).Elem()
	for i := range v.NumField() {
		if v.Type().Field(i).Tag.Get("yaml") == knob {
			return v.Field(i), true
		}
	}
	return reflect.Value{}, false
}

// Set sets one knob from its text and, if that changes the workload, notes the
// change in its name.
func (s *Spec) Set(knob, value string) error {
	f, ok := s.field(knob)
	if !ok {
		return fmt.Errorf("unknown knob %q", knob)
	}
	before := fmt.Sprint(f.Interface())
	var err error
	switch p := f.Addr().Interface().(type) {
	case *time.Duration:
		*p, err = time.ParseDuration(value)
	case encoding.TextUnmarshaler:
		err = p.UnmarshalText([]byte(value))
	case *int:
		*p, err = strconv.Atoi(value)
	case *float64:
		*p, err = strconv.ParseFloat(value, 64)
	case *string:
		*p = value
	}
	if err != nil {
		return fmt.Errorf("%s: %w", knob, err)
	}
	if after := fmt.Sprint(f.Interface()); after != before && knob != "workers" && knob != "name" && knob != "base" {
		s.Name += "+" + knob + "=" + after
	}
	return nil
}
