package cli

import (
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockbench/backends"
	"lockbench/chaos"
	"lockbench/internal/engine"
	"lockbench/internal/near"
	"lockbench/lock"
)

// chaosPlan is what chaos is about to run.
type chaosPlan struct {
	options      chaos.Options
	spec         chaosSpec
	urls, images map[string]string
	docker       bool // some cell's servers are to be containers
}

// chaosSpec is what was asked for, as the header keeps it.
type chaosSpec struct {
	Locks      []string                      `json:"locks"`
	Faults     []string                      `json:"faults"`
	Policies   []string                      `json:"policies"`
	Topologies []string                      `json:"topologies"`
	Rounds     int                           `json:"rounds"`
	Parallel   int                           `json:"parallel"`
	TTLNS      int64                         `json:"ttl_ns,omitempty"`
	Set        map[string]map[string]float64 `json:"set,omitempty"`
	Backends   map[string]string             `json:"backends,omitempty"`
	Images     map[string]string             `json:"images,omitempty"`
}

// Presets of chaos.
const (
	chaosQuick = "quick"
	chaosCI    = "ci"
	chaosAll   = "all"
)

var chaosPresets = []string{chaosQuick, chaosCI, chaosAll}

// noneRounds is how many rounds without a fault the preset ci has: a false alarm is worse than a miss.
const noneRounds = 20

// chaosPreset is what a preset stands for. Empty lists: everything.
type chaosPreset struct {
	locks, faults, topologies []string
	rounds                    int // 0: the default
	none                      int // of the fault none; 0: as all others
}

var chaosPresetOf = map[string]chaosPreset{
	chaosQuick: {locks: []string{"redis"}, topologies: []string{"redis"}},
	chaosCI: {locks: []string{"redis", "redis-naive", "redlock", "etcd", "zookeeper", "pg-advisory", "pg-row", "pg-version"},
		topologies: []string{"redis", "redlock-3", "etcd-3", "zookeeper-3", "postgres"}, rounds: 3, none: noneRounds},
	chaosAll: {locks: []string{"all", engine.AllDistributed}},
}

// chaosTopologies are the ways to set up a service's servers, where nothing else is asked for. The first one
// is that of faults on clients; the others are for what it cannot have.
var chaosTopologies = map[string][]string{
	lock.ServiceRedis:     {"redis", "redis-aof", "redis-sentinel"},
	lock.ServiceRedlock:   {"redlock-3"},
	lock.ServiceEtcd:      {"etcd-3"},
	lock.ServiceZooKeeper: {"zookeeper-3"},
	lock.ServicePostgres:  {"postgres"},
	lock.ServiceLoopback:  {"loopback"},
}

// chaosPlan makes the cells that the flags ask for.
func (a *app) chaosPlan(f *chaosFlags) (*chaosPlan, error) {
	name := f.preset
	if name == "" {
		name = chaosQuick
		if f.has("lock") || f.has("backend") || f.has("topology") {
			name = chaosAll // what is named is wanted, all of it
		}
	}
	preset, ok := chaosPresetOf[name]
	if !ok {
		return nil, unknownWord("preset", name, chaosPresets)
	}
	p := &chaosPlan{options: chaos.Options{Rounds: f.rounds, Seed: f.seed, Parallel: f.parallel, Clusters: f.clusters, TTL: f.ttl}}
	if !f.has("rounds") && preset.rounds > 0 {
		p.options.Rounds = preset.rounds
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	if err := p.places(f); err != nil {
		return nil, err
	}
	locks, err := a.chaosLocks(f, preset, p)
	if err != nil {
		return nil, err
	}
	for _, service := range slices.Sorted(maps.Keys(p.urls)) {
		if !slices.ContainsFunc(locks, func(l lock.Info) bool { return l.Remote != nil && contains(l.Remote.Services, service) }) {
			return nil, usageErr(fmt.Errorf("--backend: %s: none of the locks runs on it", service), "see: lockbench list locks")
		}
	}
	faults, err := matchNames("fault", orList(f.faults, orList(preset.faults, []string{"all"})), faultNames())
	if err != nil {
		return nil, err
	}
	policies, err := matchNames("policy", orList(f.policies, []string{"all"}), chaosPolicies)
	if err != nil {
		return nil, err
	}
	topologies, err := matchNames("topology", orList(f.topologies, orList(preset.topologies, []string{"all"})), topologyNames())
	if err != nil {
		return nil, err
	}
	if p.options.Set, err = parseSet(f.set); err != nil {
		return nil, err
	}
	p.spec = chaosSpec{Faults: faults, Policies: policies, Topologies: topologies, Rounds: p.options.Rounds, Parallel: f.parallel,
		TTLNS: int64(f.ttl), Set: p.options.Set, Images: p.images}
	for service, url := range p.urls {
		if p.spec.Backends == nil {
			p.spec.Backends = map[string]string{}
		}
		p.spec.Backends[service] = backends.Scrub(url)
	}
	for _, l := range locks {
		p.spec.Locks = append(p.spec.Locks, l.Name)
	}
	if p.options.Expect, err = chaosExpectations(); err != nil {
		return nil, err
	}
	named := len(f.topologies) > 0
	p.options.Cells = chaos.Cells(chaos.Choice{Locks: locks, Faults: faults, Policies: policies, Given: p.urls,
		Topologies: func(service string) []string {
			var out []string
			if len(p.urls) > 0 && p.urls[service] == "" && !f.has("lock") && !f.has("topology") {
				return nil // only the servers that were given
			}
			for _, t := range topologies {
				top, err := backends.TopologyNamed(t)
				if err == nil && top.Service == service && (named || contains(chaosTopologies[service], t)) {
					out = append(out, t)
				}
			}
			slices.SortStableFunc(out, func(x, y string) int {
				return slices.Index(chaosTopologies[service], x) - slices.Index(chaosTopologies[service], y)
			})
			return out
		}, Named: named})
	for _, c := range p.options.Cells {
		if c.Fault.Name == chaos.None && preset.none > 0 && !f.has("rounds") {
			c.Rounds = preset.none
		}
		p.docker = p.docker || c.Skip == "" && c.Fault.On != chaos.OnProcess && c.Topology.Service != lock.ServiceLoopback && p.urls[c.Topology.Service] == ""
	}
	if !slices.ContainsFunc(p.options.Cells, func(c *chaos.Cell) bool { return c.Skip == "" }) {
		why := "no chosen lock can have a chosen fault under a chosen policy"
		if len(p.options.Cells) > 0 {
			why += ": " + p.options.Cells[0].Name() + ": " + p.options.Cells[0].Skip
		}
		return nil, usageErr(fmt.Errorf("nothing to run: %s", why), "see: lockbench plan chaos, lockbench list faults")
	}
	if err := p.options.Validate(); err != nil {
		return nil, usageErr(err, "fewer rounds or cells")
	}
	p.options.Controls = chaos.Controls(a.catalogue)
	return p, nil
}

// check finds what is wrong with the numbers.
func (f *chaosFlags) check() error {
	for _, x := range []struct {
		flag string
		v    int
		max  int
	}{{"rounds", f.rounds, 10_000}, {"parallel", f.parallel, 500}, {"clusters", f.clusters, 16}} {
		if x.v < 1 || x.v > x.max {
			return usageErr(fmt.Errorf("--%s: %d: want 1 to %d", x.flag, x.v, x.max), "see: lockbench chaos --help")
		}
	}
	if f.has("ttl") && (f.ttl < 100*time.Millisecond || f.ttl > 5*time.Minute) {
		return usageErr(fmt.Errorf("--ttl: %v: want 100ms to 5m", f.ttl), "rounds last some TTLs each")
	}
	return nil
}

// places notes where servers and images are.
func (p *chaosPlan) places(f *chaosFlags) error {
	var spec engine.RemoteSpec
	var sf specFlags
	for _, g := range f.given {
		service, url, err := splitBackend(g)
		if err == nil {
			err = sf.setBackend(&spec, service, url)
		}
		if err != nil {
			return usageErr(fmt.Errorf("--backend: %w", err), hintBackend)
		}
	}
	for _, g := range f.images {
		key, name, ok := strings.Cut(g, "=")
		if !ok || key == "" || name == "" {
			return usageErr(fmt.Errorf("--image: %q: want KEY=NAME", g), hintImage)
		}
		if err := setImage(&spec, key, name); err != nil {
			return usageErr(fmt.Errorf("--image: %w", err), hintImage)
		}
	}
	p.urls, p.images = sf.remote.urls, spec.Images
	maps.DeleteFunc(p.urls, func(_, url string) bool { return url == "tc" })
	return nil
}

// chaosLocks are the chosen ones.
func (a *app) chaosLocks(f *chaosFlags, preset chaosPreset, p *chaosPlan) ([]lock.Info, error) {
	names := f.locks
	switch {
	case len(names) == 0 && len(p.urls) > 0: // what runs on the given servers
		for _, l := range a.catalogue {
			if l.Remote != nil && !l.Control && slices.ContainsFunc(l.Remote.Services, func(s string) bool { return p.urls[s] != "" }) {
				names = append(names, l.Name)
			}
		}
	case len(names) == 0:
		names = preset.locks
	}
	if contains(names, "all") {
		names = append(slices.Clone(names), engine.AllDistributed)
	}
	locks, err := engine.Select(slices.Concat(a.catalogue, a.broken), names)
	if err != nil {
		return nil, err
	}
	if contains(names, engine.AllDistributed) { // the known mistakes, which other patterns leave out, are what chaos is for
		for _, l := range a.catalogue {
			if l.Family == engine.CarelessFamily && !slices.ContainsFunc(locks, func(h lock.Info) bool { return h.Name == l.Name }) {
				locks = append(locks, l)
			}
		}
	}
	return slices.DeleteFunc(locks, func(l lock.Info) bool { return l.Control && !contains(names, l.Name) }), nil
}

// matchNames are the names that patterns mean; all is all of them.
func matchNames(what string, patterns, all []string) ([]string, error) {
	var out []string
	for _, pat := range patterns {
		pat = strings.TrimSpace(pat)
		if pat == "all" {
			return all, nil
		}
		matched := false
		for _, n := range all {
			ok, err := path.Match(pat, n)
			if err != nil {
				return nil, usageErr(fmt.Errorf("bad pattern %q: %w", pat, err), "patterns have *, ? and [...]")
			}
			if ok {
				matched = true
				if !contains(out, n) {
					out = append(out, n)
				}
			}
		}
		if !matched {
			if what == "fault" {
				return nil, usageErr(&near.UnknownError{What: what, Name: pat, Near: near.Names(pat, all)}, "see: lockbench list faults")
			}
			return nil, unknownWord(what, pat, all)
		}
	}
	slices.SortFunc(out, func(x, y string) int { return slices.Index(all, x) - slices.Index(all, y) })
	return out, nil
}

// parseSet reads FAULT.PARAMETER=NUMBER.
func parseSet(list []string) (map[string]map[string]float64, error) {
	const hint = "FAULT.PARAMETER=NUMBER; parameters: lockbench list faults"
	out := map[string]map[string]float64{}
	for _, s := range list {
		name, value, ok := strings.Cut(s, "=")
		fault, param, dotted := strings.Cut(name, ".")
		if !ok || !dotted {
			return nil, usageErr(fmt.Errorf("--set: %q: want FAULT.PARAMETER=NUMBER", s), hint)
		}
		fl, err := chaos.Named(fault)
		if err != nil {
			return nil, usageErr(fmt.Errorf("--set: %w", err), hint)
		}
		var names []string
		i := slices.IndexFunc(fl.Params, func(p chaos.Param) bool { names = append(names, p.Name); return p.Name == param })
		if i < 0 {
			return nil, unknownWord("parameter of "+fault, param, names)
		}
		v, err := strconv.ParseFloat(value, 64)
		if p := fl.Params[i]; err != nil || !(v >= p.Min && v <= p.Max) {
			return nil, usageErr(fmt.Errorf("--set: %s: %q: want a number from %g to %g", name, value, p.Min, p.Max), hint)
		}
		if out[fault] == nil {
			out[fault] = map[string]float64{}
		}
		out[fault][param] = v
	}
	return out, nil
}

// unknownWord is the error about a name that is none of a few.
func unknownWord(what, name string, all []string) error {
	hint := "one of " + strings.Join(all, ", ")
	if len(all) == 0 {
		hint = "it has none; see: lockbench list faults"
	}
	if n := near.Names(name, all); len(n) > 0 {
		hint = "did you mean " + strings.Join(n, ", ") + "? " + hint
	}
	return usageErr(fmt.Errorf("unknown %s %q", what, name), hint)
}

func orList(a, b []string) []string {
	if len(a) > 0 {
		return a
	}
	return b
}

// print shows the plan.
func (p *chaosPlan) print(w io.Writer, format string) error {
	type cellJSON struct {
		Lock     string `json:"lock"`
		Topology string `json:"topology"`
		Fault    string `json:"fault"`
		Policy   string `json:"policy"`
		Rounds   int    `json:"rounds"`
		Expected string `json:"expected,omitempty"`
		Skip     string `json:"skip,omitempty"`
	}
	var cells []cellJSON
	rounds, skipped := 0, 0
	for _, c := range p.options.Cells {
		j := cellJSON{Lock: c.Lock.Name, Topology: c.Topology.Name, Fault: c.Fault.Name, Policy: c.Policy, Rounds: p.options.RoundsOf(c), Skip: c.Skip}
		if e, ok := p.options.Expect(c.Lock.Name, c.Topology.Name, c.Fault.Name, c.Policy); ok {
			j.Expected = e.Verdict
		}
		if c.Skip != "" {
			j.Rounds = 0
			skipped++
		}
		rounds += j.Rounds
		cells = append(cells, j)
	}
	estimate := p.options.Estimate()
	if format == "json" {
		return writeJSON(w, struct {
			Spec       chaosSpec  `json:"spec"`
			Cells      []cellJSON `json:"cells"`
			Rounds     int        `json:"rounds"`
			EstimateNS int64      `json:"estimate_ns"`
		}{p.spec, cells, rounds, int64(estimate)})
	}
	var rows [][]string
	for _, c := range cells {
		what := fmt.Sprint(c.Rounds)
		if c.Skip != "" {
			what = "skipped: " + c.Skip
		}
		rows = append(rows, []string{c.Fault, c.Lock, c.Topology, c.Policy, c.Expected, what})
	}
	if err := plainTable(w, []string{"fault", "lock", "servers", "policy", "expected", "rounds"}, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%d cells, %d skipped, %d rounds and the controls, seed %d: about %v\n", len(cells), skipped, rounds, p.options.Seed,
		estimate.Round(time.Second))
	return err
}
