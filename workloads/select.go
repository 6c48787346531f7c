package workloads

import (
	"fmt"
	"path"
	"strings"
)

// Select returns the presets that names and globs stand for, in the order in
// which they are named, each once. "all" is every preset.
func Select(patterns []string) ([]Spec, error) {
	var out []Spec
	have := map[string]bool{}
	for _, pattern := range patterns {
		pattern = strings.TrimSpace(pattern)
		if pattern == "all" {
			pattern = "*"
		}
		if !strings.ContainsAny(pattern, "*?[") {
			s, err := Get(pattern)
			if err != nil {
				return nil, err
			}
			if !have[s.Name] {
				have[s.Name] = true
				out = append(out, s)
			}
			continue
		}
		matched := false
		for _, p := range Presets() {
			ok, err := path.Match(pattern, p.Name)
			if err != nil {
				return nil, fmt.Errorf("bad pattern %q: %w", pattern, err)
			}
			if matched = matched || ok; ok && !have[p.Name] {
				have[p.Name] = true
				out = append(out, p.Spec())
			}
		}
		if !matched {
			return nil, fmt.Errorf("no workload matches %q", pattern)
		}
	}
	return out, nil
}
