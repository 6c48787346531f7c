package results

// Reports show text from files that others wrote. The Builder makes it
// printable once, so that no renderer can forget to.

func printableSample(s Sample) *Sample {
	for _, p := range []*string{&s.Cell, &s.Lock, &s.Family, &s.Workload, &s.Pin, &s.Dispatch, &s.Threads, &s.RW, &s.Reason} {
		*p = Printable(*p)
	}
	s.Flags = printableAll(s.Flags)
	return &s
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
