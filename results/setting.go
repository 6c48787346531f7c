package results

import "strconv"

// Setting is what about the section is not the usual case, in words for titles:
// "pinned compact", "locked threads". Workload, workers and cores are not part
// of it.
func (s *Section) Setting() []string {
	var out []string
	if s.Pin != "" && s.Pin != "none" {
		out = append(out, "pinned "+s.Pin)
	}
	if s.Clients > 1 {
		out = append(out, strconv.Itoa(s.Clients)+" clients")
	}
	if s.Threads == "locked" {
		out = append(out, "locked threads")
	}
	switch s.Dispatch {
	case DispatchRemote:
		out = append([]string{"distributed"}, out...)
	case "interface":
		out = append(out, "by interface calls")
	case "external":
		out = append(out, "in programs of their own")
	}
	out = append(out, s.Params...)
	if s.Side != "" {
		out = append(out, "the "+s.Side+" side")
	}
	return out
}
