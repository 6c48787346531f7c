package workloads

import "fmt"

// UnmarshalYAML decodes a workload: the name of a preset, or a map of knobs
// that change the preset named by "base".
func (s *Spec) UnmarshalYAML(unmarshal func(any) error) error {
	var v any
	if err := unmarshal(&v); err != nil {
		return err
	}
	m, ok := v.(map[string]any)
	if !ok {
		name, ok := v.(string)
		if !ok {
			return fmt.Errorf("bad workload: want the name of a preset, or a map of knobs")
		}
		got, err := Get(name)
		if err != nil {
			return err
		}
		*s = got
		return nil
	}
	base := "uncontended"
	if b, ok := m["base"].(string); ok {
		base = b
	}
	got, err := Get(base)
	if err != nil {
		return err
	}
	*s = got
	type plain Spec // without this method
	if err := unmarshal((*plain)(s)); err != nil {
		return err
	}
	if name, _ := m["name"].(string); name == "" {
		return fmt.Errorf("a workload with knobs needs a name")
	}
	return nil
}
