package watchdog

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
)

var testOwner = Owner{"m", "boot", "s", 7, 9}

func TestMessageRoundTrip(t *testing.T) {
	for _, m := range []message{
		{Op: opHello, Owner: testOwner.String(), Dirs: []string{"/tmp", "/dev/shm"}},
		{Op: opHold, ID: 1, Kind: KindProcess, PID: 44, Start: 1 << 63},
		{Op: opHold, ID: 2, Kind: KindContainer, Name: "lockbench-run_1.redis-1"},
		{Op: opHold, ID: 3, Kind: KindNetwork, Name: "lockbench-peers"},
		{Op: opHold, ID: 4, Kind: KindPath, Name: "/tmp/a \"b\"\n"},
		{Op: opDrop, ID: 4},
		{Op: opDocker, Name: "unix:///var/run/docker.sock"},
		{Op: opReady},
		{Op: opDone, Left: []string{"container x: no"}},
	} {
		line, err := encode(m)
		if err != nil {
			t.Errorf("encode(%+v): %v", m, err)
			continue
		}
		if n := bytes.Count(line, []byte("\n")); n != 1 || line[len(line)-1] != '\n' {
			t.Errorf("encode(%+v) = %q: want one line", m, line)
		}
		m.Version = wireVersion
		if got, err := decode(line); err != nil || !reflect.DeepEqual(got, m) {
			t.Errorf("decode(%q) = %+v, %v, want %+v", line, got, err, m)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, line := range []string{
		``, `{`, `[]`, `null`, `{}`, `{"v":1}`,
		`{"v":1,"op":"ready"} {}`,
		`{"v":1,"op":"ready","more":1}`,
		`{"v":2,"op":"ready"}`,
		`{"op":"ready"}`,
		`{"v":1,"op":"rm"}`,
		`{"v":1,"op":"hello","owner":"me"}`,
		`{"v":1,"op":"hello","owner":"m/boot/s/7/9","dirs":["tmp"]}`,
		`{"v":1,"op":"drop"}`,
		`{"v":1,"op":"docker"}`,
		`{"v":1,"op":"hold","id":1,"kind":"file","name":"/tmp/x"}`,
		`{"v":1,"op":"hold","kind":"path","name":"/tmp/x"}`,
		`{"v":1,"op":"hold","id":1,"kind":"path","name":"tmp/x"}`,
		`{"v":1,"op":"hold","id":1,"kind":"path","name":"/tmp/../etc"}`,
		`{"v":1,"op":"hold","id":1,"kind":"process","pid":1}`,
		`{"v":1,"op":"hold","id":1,"kind":"process","pid":0}`,
		`{"v":1,"op":"hold","id":1,"kind":"process","pid":-5}`,
		`{"v":1,"op":"hold","id":1,"kind":"process","pid":5,"name":"x"}`,
		`{"v":1,"op":"hold","id":1,"kind":"container","name":""}`,
		`{"v":1,"op":"hold","id":1,"kind":"container","name":"a/../b"}`,
		`{"v":1,"op":"hold","id":1,"kind":"container","name":"a?force=1"}`,
		`{"v":1,"op":"hold","id":1,"kind":"network","name":"-x"}`,
		`{"v":1,"op":"hold","id":-1,"kind":"network","name":"xx"}`,
		`{"v":1,"op":"docker","name":"` + strings.Repeat("x", maxMessage) + `"}`,
	} {
		if m, err := decode([]byte(line)); !errors.Is(err, errMessage) {
			t.Errorf("decode(%.80q) = %+v, %v, want %v", line, m, err, errMessage)
		}
	}
}

func TestEncodeRefusesWhatIsTooLong(t *testing.T) {
	m := message{Op: opDocker, Name: strings.Repeat("x", maxMessage)}
	if line, err := encode(m); !errors.Is(err, errMessage) {
		t.Errorf("encode of a name of %d bytes: %d bytes, %v", len(m.Name), len(line), err)
	}
	// What is left is always told, however much it is.
	for _, left := range [][]string{{strings.Repeat("\x01", 10*maxMessage)}, {strings.Repeat("ä", 10*maxMessage)}} {
		if _, err := encode(message{Op: opDone, Left: []string{shorten(left)}}); err != nil {
			t.Errorf("encode what has been shortened: %v", err)
		}
	}
}

// FuzzDecode: whatever is decoded can be encoded, and comes back.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`{"v":1,"op":"hold","id":2,"kind":"container","name":"lockbench-1"}` + "\n",
		`{"v":1,"op":"hold","id":1,"kind":"process","pid":44,"start":99}`,
		`{"v":1,"op":"hold","id":4,"kind":"path","name":"/tmp/x"}`,
		`{"v":1,"op":"hello","owner":"m/boot/s/7/9","dirs":["/tmp"]}`,
		`{"v":1,"op":"drop","id":18446744073709551615}`,
		`{"v":1,"op":"done","left":["a","\ud800"]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := decode(line)
		if err != nil {
			return
		}
		again, err := encode(m)
		if err != nil {
			// Only for its length: JSON may be written shorter than we write it.
			if len(again) == 0 && len(line) > maxMessage/6 {
				return
			}
			t.Fatalf("decode(%q) = %+v, encode: %v", line, m, err)
		}
		back, err := decode(again)
		if err != nil || !reflect.DeepEqual(normal(back), normal(m)) {
			t.Fatalf("decode(%q) = %+v, then decode(%q) = %+v, %v", line, m, again, back, err)
		}
	})
}

// normal makes empty and absent lists the same.
func normal(m message) message {
	if len(m.Dirs) == 0 {
		m.Dirs = nil
	}
	if len(m.Left) == 0 {
		m.Left = nil
	}
	return m
}
