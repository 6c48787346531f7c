package main

import (
	"lockbench/backends"
	"lockbench/chaos"
	"lockbench/chaos/expect"
	"lockbench/lock"
)

// subjects are the locks of the catalogue, each with all that can be done to it, skipped or not, and the names of
// the faults in their order. Distributed locks come first. null and its like are no locks.
func subjects(catalogue []lock.Info, faults []chaos.Fault, topologies []backends.Topology) (all []expect.Subject, names []string) {
	var here, remote []string
	for _, f := range faults {
		names = append(names, f.Name)
		if f.On == chaos.OnProcess {
			here = append(here, f.Name)
		} else {
			remote = append(remote, f.Name)
		}
	}
	var local []expect.Subject
	for _, l := range catalogue {
		switch {
		case l.Control:
			continue
		case l.Kind == lock.KindLock:
			local = append(local, expect.Subject{Lock: l.Name, Faults: here, Policies: []string{chaos.Plain}, Topologies: []string{chaos.InProcess}})
			continue
		}
		s := expect.Subject{Lock: l.Name, Faults: remote, Policies: policies(l)}
		for _, service := range l.Remote.Services {
			for _, t := range topologies {
				if t.Service == service && t.Nodes >= l.Remote.MinNodes {
					s.Topologies = append(s.Topologies, t.Name)
				}
			}
		}
		all = append(all, s)
	}
	return append(all, local...), names
}

// policies are those that a lock's sections can have.
func policies(l lock.Info) []string {
	switch {
	case l.Kind != lock.KindLease:
		return []string{chaos.Protected}
	case l.Remote.Guards:
		return []string{chaos.Careful, chaos.Careless, chaos.Protected}
	}
	return []string{chaos.Careful, chaos.Careless}
}
