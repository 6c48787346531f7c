package results

// Reports show text from files that others wrote. The Builder makes it
// printable once, so that no renderer can forget to.

func (b *Builder) printableSample(s Sample) Sample {
	for _, p := range []*string{&s.Cell, &s.Lock, &s.Family, &s.Workload, &s.Pin, &s.Dispatch, &s.Threads, &s.RW, &s.Side, &s.Outcome} {
		*p = b.text(*p)
	}
	s.Reason = Printable(s.Reason)
	var flags []string
	for _, f := range s.Flags {
		flags = append(flags, b.text(f))
	}
	s.Type, s.Flags, s.Remote = TypeSample, flags, b.printableRemote(s.Remote)
	return s
}

// printableRemote is a copy without what reports do not show.
func (b *Builder) printableRemote(r *Remote) *Remote {
	if r == nil {
		return nil
	}
	out := *r
	for _, p := range []*string{&out.Service, &out.Topology, &out.Network, &out.ServerVersion, &out.Persistence, &out.Image,
		&out.Peer, &out.Note, &out.OnTimeout, &out.Order, &out.Keys} {
		*p = b.text(*p)
	}
	return &out
}

// maxNames bounds the texts that a Builder remembers.
const maxNames = 1 << 16

// text is Printable, and one copy of what many records repeat.
func (b *Builder) text(s string) string {
	p, ok := b.names[s]
	if !ok {
		p = Printable(s)
		if len(b.names) < maxNames {
			b.names[s] = p
		}
	}
	return p
}

func printableRun(r Run) Run {
	for _, p := range []*string{
		&r.RunID, &r.Started, &r.Go.Version, &r.Go.GOOS, &r.Go.GOARCH,
		&r.Program.Path, &r.Program.Version, &r.Program.Revision, &r.Clock.Kind,
	} {
		*p = Printable(*p)
	}
	r.Doubts = printableAll(r.Doubts)
	r.Workloads = printableAll(r.Workloads)
	labels := make(map[string]string, len(r.Labels))
	for k, v := range r.Labels {
		labels[Printable(k)] = Printable(v)
	}
	r.Labels = labels
	return r
}

func printableAll(in []string) []string {
	var out []string
	for _, s := range in {
		out = append(out, Printable(s))
	}
	return out
}
