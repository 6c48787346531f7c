package chaos_test

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"lockbench/backends"
	"lockbench/chaos"
	"lockbench/chaos/expect"
	"lockbench/impls"
	"lockbench/lock"
)

var allPolicies = []string{chaos.Careful, chaos.Careless, chaos.Protected}

func allFaults() (names []string) {
	for _, f := range chaos.Faults() {
		names = append(names, f.Name)
	}
	return names
}

// topologiesOf are all of a service.
func topologiesOf(service string) (names []string) {
	for _, t := range backends.Topologies() {
		if t.Service == service {
			names = append(names, t.Name)
		}
	}
	return names
}

func named(t testing.TB, names ...string) (out []lock.Info) {
	t.Helper()
	for _, n := range names {
		i := slices.IndexFunc(impls.Catalog(), func(l lock.Info) bool { return l.Name == n })
		if i < 0 {
			t.Fatalf("no lock %q", n)
		}
		out = append(out, impls.Catalog()[i])
	}
	return out
}

// TestCellsAreExpected goes through the whole matrix: what chaos skips is exactly what theory takes for impossible, and
// of all else theory says something. holder-vanish depends on the machine, too.
func TestCellsAreExpected(t *testing.T) {
	table, err := expect.Load(chaos.ExpectYAML)
	if err != nil {
		t.Fatal(err)
	}
	vanish := runtime.GOOS == "linux" && os.Geteuid() == 0
	n, skipped := 0, 0
	for _, c := range chaos.Cells(chaos.Choice{Locks: impls.Catalog(), Faults: allFaults(), Policies: allPolicies, Topologies: topologiesOf, Named: true}) {
		if c.Lock.Unavailable != "" || c.Lock.Control || c.Fault.Name == chaos.HolderVanish && !vanish {
			continue
		}
		n++
		topology := c.Topology.Name
		if topology == chaos.InProcess {
			topology = ""
		}
		e, ok := table.Lookup(c.Lock.Name, topology, c.Fault.Name, c.Policy)
		switch {
		case !ok && !(c.Skip != "" && c.Topology.Service == lock.ServiceLoopback):
			t.Errorf("%s: theory says nothing of it (skipped for %q)", c.Name(), c.Skip)
		case ok && e.Verdict == "skipped" && c.Skip == "":
			t.Errorf("%s: theory takes it for impossible (%s), but it is run", c.Name(), e.Why)
		case ok && e.Verdict != "skipped" && c.Skip != "":
			t.Errorf("%s: theory expects %s, but it is skipped: %s", c.Name(), e.Verdict, c.Skip)
		}
		if c.Skip != "" {
			skipped++
			if strings.TrimSpace(c.Skip) != c.Skip || strings.HasSuffix(c.Skip, ".") {
				t.Errorf("%s: the reason is %q", c.Name(), c.Skip)
			}
		}
	}
	if n < 1000 || skipped == 0 || skipped > n/2 {
		t.Errorf("%d cells, %d skipped", n, skipped)
	}
}

// TestEachFaultSomewhere: no line of the catalogue is skipped everywhere, and none on servers is run where there is
// nothing that could be hit.
func TestEachFaultSomewhere(t *testing.T) {
	runs := map[string][]string{} // fault -> topologies
	for _, c := range chaos.Cells(chaos.Choice{Locks: impls.Catalog(), Faults: allFaults(), Policies: allPolicies, Topologies: topologiesOf, Named: true}) {
		if c.Skip == "" && !slices.Contains(runs[c.Fault.Name], c.Topology.Name) {
			runs[c.Fault.Name] = append(runs[c.Fault.Name], c.Topology.Name)
		}
	}
	for _, f := range chaos.Faults() {
		got := runs[f.Name]
		if len(got) == 0 && !(f.Name == chaos.HolderVanish && (runtime.GOOS != "linux" || os.Geteuid() != 0)) {
			t.Errorf("%s runs nowhere", f.Name)
		}
		if f.On == chaos.OnServers && slices.Contains(got, "loopback") {
			t.Errorf("%s, on servers, runs on this process's own server", f.Name)
		}
	}
	quorums := []string{"etcd-3", "redlock-3", "redlock-5", "zookeeper-3"}
	for _, x := range []struct {
		fault string
		want  []string
	}{
		{chaos.LeaderKill, []string{"etcd-3", "redis-sentinel", "zookeeper-3"}},
		{chaos.ReplicaPromote, []string{"redis-sentinel"}},
		{chaos.MinorityCutoff, append(slices.Clone(quorums), "redis-sentinel")},
		{chaos.QuorumLoss, quorums},
		{chaos.BareQuorum, []string{"redlock-3", "redlock-5"}},
		{chaos.ClockForward, []string{"redis", "redis-aof", "redis-sentinel", "redlock-3", "redlock-5"}},
		{chaos.ClockBack, []string{"redis", "redis-aof", "redis-sentinel", "redlock-3", "redlock-5"}},
		{chaos.ConnTerminate, []string{"postgres"}},
		{chaos.ServerEmpty, []string{"redis", "redis-aof", "redis-sentinel", "redlock-3", "redlock-5"}},
		{chaos.GoroutineExit, []string{chaos.InProcess}},
	} {
		got := slices.Sorted(slices.Values(runs[x.fault]))
		if want := slices.Sorted(slices.Values(x.want)); !slices.Equal(got, want) {
			t.Errorf("%s runs on %q, want %q", x.fault, got, want)
		}
	}
}

// TestGivenServers: those of the user get faults on clients alone, on the first topology, and the others say why not.
func TestGivenServers(t *testing.T) {
	all := chaos.Cells(chaos.Choice{Locks: impls.Catalog(), Faults: allFaults(), Policies: allPolicies, Topologies: topologiesOf,
		Given: map[string]string{"redis": "redis://h", "redlock": "redis://a,b,c", "etcd": "etcd://h", "zookeeper": "zk://h", "postgres": "postgres://h"}})
	run := map[string]bool{}
	servers := 0
	for _, c := range all {
		if c.Fault.On == chaos.OnProcess || c.Topology.Service == lock.ServiceLoopback {
			continue
		}
		if want := topologiesOf(c.Topology.Service)[0]; c.Topology.Name != want {
			// Locks that need several servers have another first one.
			if first, err := backends.TopologyNamed(want); err == nil && first.Nodes >= c.Lock.Remote.MinNodes {
				t.Errorf("%s: given servers have one topology", c.Name())
			}
		}
		if !c.Given {
			t.Errorf("%s: its servers are given, and it does not know", c.Name())
		}
		if c.Fault.On == chaos.OnServers {
			servers++
			if c.Skip == "" {
				t.Errorf("%s: a fault on servers that are given is run", c.Name())
			}
		}
		if c.Fault.Name == chaos.HolderVanish && c.Skip == "" {
			t.Errorf("%s: it drops packets in a network that is the user's", c.Name())
		}
		if c.Skip == "" {
			run[c.Fault.Name] = true
		}
	}
	for _, f := range []string{chaos.None, chaos.HolderKill, chaos.HolderPause, chaos.HolderCutoff, chaos.ReplyLost, chaos.WaiterKill, chaos.ConnTerminate} {
		if !run[f] {
			t.Errorf("%s runs on no given server", f)
		}
	}
	if servers == 0 {
		t.Error("no fault on servers is in the matrix with its reason")
	}
	for _, c := range chaos.Cells(chaos.Choice{Locks: named(t, "redis"), Faults: []string{chaos.ServerPause}, Policies: allPolicies,
		Topologies: func(string) []string { return []string{"redis"} }, Given: map[string]string{"redis": "redis://h"}}) {
		if !strings.Contains(c.Skip, "the servers are given") {
			t.Errorf("%s: skipped for %q", c.Name(), c.Skip)
		}
	}
}

// TestCells: which cells there are of a choice.
func TestCells(t *testing.T) {
	redis := func(service string) []string {
		if service != lock.ServiceRedis {
			return nil
		}
		return []string{"redis", "redis-aof", "redis-sentinel"}
	}
	for _, x := range []struct {
		name     string
		locks    []string
		faults   []string
		policies []string
		named    bool
		want     string // fault:topology:policy, skipped ones in parentheses
	}{
		{"a fault on clients has the first topology, and Sentinel's", []string{"redis"}, []string{chaos.HolderKill}, []string{chaos.Careful}, false,
			"holder-kill:redis:careful holder-kill:redis-sentinel:careful"},
		{"all that are named", []string{"redis"}, []string{chaos.HolderKill}, []string{chaos.Careful}, true,
			"holder-kill:redis:careful holder-kill:redis-aof:careful holder-kill:redis-sentinel:careful"},
		{"a fault on servers has all", []string{"redis"}, []string{chaos.ServerRestart}, []string{chaos.Careless}, false,
			"(server-restart:redis:careless) server-restart:redis-aof:careless (server-restart:redis-sentinel:careless)"},
		{"both policies", []string{"redis"}, []string{chaos.HolderKill}, allPolicies, false,
			"holder-kill:redis:careful holder-kill:redis:careless holder-kill:redis-sentinel:careful holder-kill:redis-sentinel:careless"},
		{"no such policy", []string{"redis"}, []string{chaos.HolderKill}, []string{chaos.Protected}, false, ""},
		{"no such servers", []string{"etcd"}, []string{chaos.HolderKill}, allPolicies, false, ""},
		{"an in-process fault", []string{"redis", "mutex"}, []string{chaos.GoroutineExit}, allPolicies, false, "goroutine-exit:in-process:plain"},
		{"a distributed fault", []string{"mutex"}, []string{chaos.HolderKill}, allPolicies, false, ""},
		{"the order of faults", []string{"redis"}, []string{chaos.WaiterKill, chaos.None}, []string{chaos.Careful}, false,
			"waiter-kill:redis:careful waiter-kill:redis-sentinel:careful none:redis:careful none:redis-sentinel:careful"},
	} {
		var got []string
		for _, c := range chaos.Cells(chaos.Choice{Locks: named(t, x.locks...), Faults: x.faults, Policies: x.policies, Topologies: redis, Named: x.named}) {
			s := fmt.Sprintf("%s:%s:%s", c.Fault.Name, c.Topology.Name, c.Policy)
			if c.Skip != "" {
				s = "(" + s + ")"
			}
			got = append(got, s)
		}
		if s := strings.Join(got, " "); s != x.want {
			t.Errorf("%s: got %q, want %q", x.name, s, x.want)
		}
	}
	pg := chaos.Cells(chaos.Choice{Locks: named(t, "pg-version", "pg-row"), Faults: []string{chaos.StaleUnlock, chaos.WaiterKill, chaos.RenewalStop}, Policies: allPolicies, Topologies: topologiesOf})
	if len(pg) != 6 {
		t.Fatalf("%d cells of two locks and three faults, want 6", len(pg))
	}
	for _, c := range pg {
		if c.Policy != chaos.Protected {
			t.Errorf("%s: a lock that is none has another policy", c.Name())
		}
		if c.Lock.Name == "pg-version" && c.Skip == "" {
			t.Errorf("%s is run: nobody waits, and there is no lease", c.Name())
		}
	}
}

// TestValidate: more rounds than can be claimed at once are refused before anything is started.
func TestValidate(t *testing.T) {
	cells := chaos.Cells(chaos.Choice{Locks: named(t, "redis"), Faults: []string{chaos.HolderKill, chaos.ServerRestart}, Policies: []string{chaos.Careful},
		Topologies: func(string) []string { return []string{"redis"} }})
	for _, x := range []struct {
		rounds, of int
		err        string
	}{{10, 0, ""}, {10_000, 0, ""}, {32_768, 0, ""}, {32_769, 0, "32769 rounds in all: at most 32768"}, {1, 40_000, "40000 rounds in all"}} {
		o := chaos.Options{Cells: cells, Rounds: x.rounds} // the second cell is skipped: Redis keeps nothing
		cells[0].Rounds = x.of
		err := o.Validate()
		if x.err == "" && err != nil || x.err != "" && (err == nil || !strings.Contains(err.Error(), x.err)) {
			t.Errorf("%d rounds, %d of the cell: got %v, want %q", x.rounds, x.of, err, x.err)
		}
	}
}

// TestEstimate: it grows with the rounds, and with what a fault takes; what is skipped takes nothing.
func TestEstimate(t *testing.T) {
	of := func(rounds, parallel, clusters int, faults ...string) time.Duration {
		cells := chaos.Cells(chaos.Choice{Locks: named(t, "redis", "etcd"), Faults: faults, Policies: []string{chaos.Careful}, Topologies: topologiesOf})
		o := chaos.Options{Cells: cells, Rounds: rounds, Parallel: parallel, Clusters: clusters}
		return o.Estimate()
	}
	few, many := of(10, 4, 1, chaos.HolderKill), of(40, 4, 1, chaos.HolderKill)
	if few <= 0 || many <= few {
		t.Errorf("10 rounds %v, 40 rounds %v", few, many)
	}
	if wide := of(40, 16, 1, chaos.HolderKill); wide >= many {
		t.Errorf("4 rounds at a time %v, 16 at a time %v", many, wide)
	}
	one, two := of(10, 4, 1, chaos.ServerPause, chaos.ServerKill), of(10, 4, 2, chaos.ServerPause, chaos.ServerKill)
	if two >= one {
		t.Errorf("one cluster at a time %v, two %v", one, two)
	}
	// Faults on servers are seen by all locks of a cluster at once, and cost what the longest does.
	if least := 10 * (chaos.TimesOf("redis", 0, 0, chaos.Fault{}).Hold); of(10, 4, 4, chaos.ServerPause) < least {
		t.Errorf("10 pauses of servers: %v, less than the pauses take, %v", of(10, 4, 4, chaos.ServerPause), least)
	}
	var none chaos.Options
	none.Parallel, none.Clusters = 1, 1
	if d := none.Estimate(); d > 10*time.Second {
		t.Errorf("nothing takes %v", d)
	}
}

// TestControls: all that CHAOS wants, on the harness's own server.
func TestControls(t *testing.T) {
	all := chaos.Controls(impls.Catalog())
	wants := map[string]bool{}
	for _, c := range all {
		if !c.Control || c.Topology.Name != "loopback" || c.Skip != "" || c.Rounds < 1 || c.Want == "" {
			t.Errorf("%s: got %+v", c.Name(), c)
		}
		wants[c.Lock.Name+" "+c.Want] = true
	}
	for _, want := range []string{"control-naive unsafe", "control-ttl safe-with-fence", "control-perfect safe"} {
		if !wants[want] {
			t.Errorf("no control of %q: there are %v", want, wants)
		}
	}
	if wants["control-perfect unsafe"] || len(all) < 5 {
		t.Errorf("got %v", wants)
	}
	if got := chaos.Controls(nil); len(got) != 0 {
		t.Errorf("without a catalogue: %d", len(got))
	}
}
