package impls_test

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"lockbench/impls"
	"lockbench/lock"
)

// want is every built-in lock with what the project promises of it.
var want = map[string]struct{ family, can string }{
	"null": {"std", "try timed rw"}, "mutex": {"std", "try"}, "rwmutex": {"std", "try rw tryr"},
	"chan": {"std", "try timed ctx"}, "semaphore": {"std", "try timed ctx"}, "cond": {"std", "try timed ctx"},
	"tas": {"spin", "try"}, "ttas": {"spin", "try"}, "ttas-backoff": {"spin", "try"}, "cas": {"spin", "try"},
	"ticket": {"ticket", "try fifo"}, "ticket-backoff": {"ticket", "try fifo"},
	"ticket-yield": {"ticket", "try fifo"}, "ticket-park": {"ticket", "try fifo"},
	"anderson": {"array", "try fifo"}, "anderson-yield": {"array", "try fifo"}, "anderson-park": {"array", "try fifo"},
	"mcs": {"mcs", "try fifo"}, "mcs-yield": {"mcs", "try fifo"}, "mcs-park": {"mcs", "try fifo"}, "mcs-abort": {"mcs", "try timed ctx"},
	"clh": {"clh", "fifo"}, "clh-yield": {"clh", "fifo"}, "clh-park": {"clh", "fifo"}, "clh-abort": {"clh", "timed ctx"},
	"hemlock": {"hemlock", "try fifo"}, "futex": {"futex", "try"}, "futex-pi": {"futex", "try"},
	"rw-phase-fair": {"rw", "rw"},
	"dekker":        {"classic", ""}, "peterson": {"classic", ""}, "filter": {"classic", ""}, "tournament": {"classic", ""}, "bakery": {"classic", "fifo"},
}

func TestCatalog(t *testing.T) {
	got := map[string]lock.Info{}
	for _, i := range impls.Merge(impls.Catalog(), impls.Broken()) {
		got[i.Name] = i
	}
	for name, w := range want {
		i, ok := got[name]
		if !ok {
			t.Errorf("no lock %q", name)
			continue
		}
		if i.Family != w.family {
			t.Errorf("%s: family %q, want %q", name, i.Family, w.family)
		}
		if i.Doc == "" {
			t.Errorf("%s: no description", name)
		}
		if i.Control != (name == "null") {
			t.Errorf("%s: Control is %v", name, i.Control)
		}
		if i.Unavailable != "" {
			if runtime.GOOS == "linux" {
				t.Errorf("%s: unavailable on Linux: %s", name, i.Unavailable)
			}
			continue
		}
		caps, err := i.Probe()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !caps.Loops {
			t.Errorf("%s: no generated loops", name)
		}
		for word, has := range map[string]bool{"try": caps.Try, "timed": caps.Timed, "ctx": caps.Context, "rw": caps.RW, "tryr": caps.TryR, "fifo": i.FIFO} {
			if wanted := slices.Contains(strings.Fields(w.can), word); wanted && !has {
				t.Errorf("%s: lacks %s", name, word)
			} else if has && !wanted && word != "ctx" && word != "tryr" {
				t.Errorf("%s: has %s, which this table does not expect", name, word)
			}
		}
	}
	for _, i := range impls.Catalog() {
		if i.Dial != nil {
			continue // see TestDistributed
		}
		if _, ok := want[i.Name]; !ok {
			t.Errorf("lock %q is not in the table of this test", i.Name)
		}
	}
	for _, name := range []string{"dekker", "peterson"} {
		if got[name].MaxWorkers != 2 {
			t.Errorf("%s: MaxWorkers %d, want 2", name, got[name].MaxWorkers)
		}
	}
}

// remote is every distributed lock with its folder and what it promises.
var remote = map[string]struct{ family, kind, can string }{
	"redis": {"redis", "lease", "expires renews fences reentrant"}, "redis-pubsub": {"redis", "lease", "expires renews fences reentrant"},
	"redis-fair":  {"redis", "lease", "fifo expires renews fences reentrant"},
	"redis-naive": {"redis", "lease", "expires renews reentrant"},
	"redlock":     {"redlock", "lease", "expires renews reentrant"},
	"etcd":        {"etcd", "lease", "fifo expires renews fences reentrant"},
	"zookeeper":   {"zookeeper", "lease", "fifo expires renews fences reentrant"},
	"pg-advisory": {"postgres", "lease", "reentrant"}, "pg-advisory-xact": {"postgres", "guarded", "reentrant"},
	"pg-row": {"postgres", "guarded", "reentrant"}, "pg-row-nowait": {"postgres", "guarded", "reentrant"},
	"pg-row-skip": {"postgres", "guarded", "reentrant"}, "pg-version": {"postgres", "optimistic", ""},
	"pg-advisory-pooled": {"careless", "lease", ""}, "pg-version-blind": {"careless", "optimistic", ""},
	"zookeeper-plain": {"careless", "lease", "fifo expires renews fences reentrant"},
	"redsync":         {"peers", "lease", "expires"}, "redislock": {"peers", "lease", "expires"}, "rueidislock": {"peers", "lease", "expires renews"},
	"etcd-concurrency": {"peers", "lease", "fifo expires renews fences"}, "zk-recipe": {"peers", "lease", "fifo expires renews"},
}

func TestDistributed(t *testing.T) {
	got := map[string]lock.Info{}
	for _, i := range impls.Distributed() {
		if i.Family == "control" {
			continue // the harness's own
		}
		got[i.Name] = i
		w, ok := remote[i.Name]
		if !ok {
			t.Errorf("lock %q is not in the table of this test", i.Name)
			continue
		}
		if i.Family != "distributed/"+w.family || i.Kind.String() != w.kind || i.Doc == "" || i.Remote.Waits == "" {
			t.Errorf("%s: family %q, kind %s, waits %q, doc %q", i.Name, i.Family, i.Kind, i.Remote.Waits, i.Doc)
		}
		if (w.family == "peers") != (i.Remote.Peer != "") {
			t.Errorf("%s: library %q", i.Name, i.Remote.Peer)
		}
		r := i.Remote
		for word, has := range map[string]bool{"fifo": i.FIFO, "expires": r.Expires, "renews": r.Renews, "fences": r.Fences || r.AlwaysFences, "reentrant": r.Reentrant} {
			if slices.Contains(strings.Fields(w.can), word) != has {
				t.Errorf("%s: %s is %v", i.Name, word, has)
			}
		}
	}
	for name := range remote {
		if _, ok := got[name]; !ok {
			t.Errorf("no lock %q", name)
		}
	}
}

func TestMergePanics(t *testing.T) {
	ok := lock.Info{Name: "a", Family: "f", Source: "s", New: func(int) (lock.Lock, error) { return nil, nil }}
	for name, lists := range map[string][][]lock.Info{
		"same name": {{ok}, {ok}},
		"no New":    {{{Name: "b", Family: "f", Source: "s"}}},
		"bad name":  {{{Name: "B!", Family: "f", Source: "s", New: ok.New}}},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			impls.Merge(lists...)
		}()
	}
}
