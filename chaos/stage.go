package chaos

import (
	"math/rand/v2"

	"lockbench/backends"
)

// Stage is where an injection takes place.
type Stage struct {
	// Plays are the rounds that see it: exactly one of a fault on clients.
	Plays   []*Play
	Cluster *backends.Cluster
	Times   Times
	Rand    *rand.Rand // of this injection, from the run's seed
	// Set are the parameters that the user has set, by name.
	Set map[string]float64
	// Fault is the one whose steps are made.
	Fault Fault
}

// Play returns the one round of a fault on clients.
func (s *Stage) Play() *Play { return s.Plays[0] }

// Param is the value of a parameter: what the user set, its default, or else.
func (s *Stage) Param(name string, orElse float64) float64 {
	if v, ok := s.Set[name]; ok {
		return v
	}
	for _, p := range s.Fault.Params {
		if p.Name == name && p.Default != nil {
			return *p.Default
		}
	}
	return orElse
}
