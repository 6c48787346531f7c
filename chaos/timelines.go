package chaos

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lockbench/chaos/actor"
	"lockbench/chaos/timeline"
	"lockbench/chaos/witness"
)

// timeline tells the round as lines of text, for counterexamples.
func (p *Play) timeline(all []*grant) []timeline.Line {
	var out []timeline.Line
	add := func(at int64, who, format string, args ...any) {
		out = append(out, timeline.Line{AtNS: at, Who: who, Text: fmt.Sprintf(format, args...)})
	}
	name := map[int]string{}
	for _, who := range p.parties() {
		for a := range actor.MaxActors {
			name[who.Worker(a)] = called(who, a)
		}
		for _, e := range who.events() {
			if text := describe(e); text != "" {
				l := timeline.Line{AtNS: e.AtNS, Who: called(who, e.Actor), Text: text}
				switch e.Ev {
				case actor.EvGranted:
					l.Begin = l.Who
				case actor.EvLeft:
					l.End = l.Who
				}
				out = append(out, l)
			}
		}
		if who.ended != 0 {
			out = append(out, timeline.Line{AtNS: who.ended, Who: who.Name, Text: "is killed: its claim ends here", End: who.Name})
		}
		for _, s := range who.pause {
			add(s.From, who.Name, "is stopped")
			if s.To != 0 {
				add(s.To, who.Name, "goes on")
			}
		}
	}
	double := map[*grant]string{}
	for i, b := range all {
		for _, a := range all[:i] {
			if a.valid(b.at) {
				double[b] = fmt.Sprintf("granted while %s still holds a valid lease", name[a.worker])
			}
		}
	}
	for g, why := range double {
		out = append(out, timeline.Line{AtNS: g.at, Who: name[g.worker], Text: "DOUBLE GRANT: " + why, Bad: true})
	}
	latest, at := int64(-1), map[int]int64{}
	for _, g := range all {
		at[g.worker] = g.at
	}
	for _, op := range p.run.witness.Log(p.key()) {
		l := timeline.Line{AtNS: op.AtNS, Who: "store", Text: storeText(op, name[op.Worker])}
		if mine, ok := at[op.Worker]; ok {
			if op.Kind == witness.OpWrite && mine < latest {
				l.Text, l.Bad = "STALE WRITE: "+l.Text, true
			} else if op.Kind == witness.OpRead {
				latest = max(latest, mine)
			}
		}
		out = append(out, l)
	}
	j := p.obs.Injection
	for _, x := range []struct {
		at               int64
		text, begin, end string
	}{{j.InjectedNS, p.fault.Name + " begins", p.fault.Name, ""}, {j.FeltNS, "felt: " + j.Evidence, "", ""},
		{j.RecoverNS, "the fault is to end", "", ""}, {j.RecoveredNS, "recovered", "", p.fault.Name}} {
		if x.at != 0 {
			out = append(out, timeline.Line{AtNS: x.at, Who: timeline.Fault, Text: strings.TrimSuffix(x.text, ": "), Begin: x.begin, End: x.end})
		}
	}
	slices.SortStableFunc(out, func(a, b timeline.Line) int { return cmp.Compare(a.AtNS, b.AtNS) })
	return out
}

func called(who *Party, a int) string {
	if a == 0 {
		return who.Name
	}
	return fmt.Sprintf("%s/%d", who.Name, a)
}

func storeText(op witness.Op, who string) string {
	token := "no token"
	if op.HasToken {
		token = fmt.Sprintf("token %d", op.Token)
	}
	fenced := ""
	if op.HasToken {
		fenced = "; the fenced store refuses"
		if op.Fenced {
			fenced = "; the fenced store takes it"
		}
	}
	if op.Kind == witness.OpRead {
		return fmt.Sprintf("%s reads %d (%s%s)", who, op.Value, token, fenced)
	}
	return fmt.Sprintf("%s writes %d (%s%s)", who, op.Value, token, fenced)
}

// describe is an event in words; empty: the stores' log tells it.
func describe(e actor.Event) string {
	switch e.Ev {
	case actor.EvRequested:
		return "asks for the lock"
	case actor.EvGranted:
		s := "is granted"
		if e.HasToken {
			s += fmt.Sprintf(", token %d", e.Token)
		}
		if e.UntilNS != 0 {
			s += fmt.Sprintf(", valid for %.0f ms by its own view", float64(e.UntilNS-e.AtNS)/1e6)
		}
		return s
	case actor.EvRefused:
		return "is refused: " + words(e)
	case actor.EvRenewed:
		return fmt.Sprintf("has renewed: valid for %.0f ms", float64(e.UntilNS-e.AtNS)/1e6)
	case actor.EvLost:
		return "knows that its lease has ended"
	case actor.EvPoint:
		return "stands at " + e.Point
	case actor.EvStopped:
		return "stops writing: " + words(e)
	case actor.EvLeft:
		return "gives its claim up"
	case actor.EvReleased:
		return "has released: " + words(e)
	case actor.EvUpdated:
		return fmt.Sprintf("has updated in %d attempts: %s", e.Attempts, words(e))
	case actor.EvWrote:
		if e.Unfenced == nil {
			return "has written, guarded: " + words(e)
		}
	case actor.EvValue:
		return fmt.Sprintf("finds the value %d", e.Value)
	case actor.EvFailed:
		return "fails: " + words(e)
	}
	return ""
}

func words(e actor.Event) string {
	s := e.Class
	if s == "" {
		s = "ok"
	}
	if e.Text != "" {
		s += " (" + e.Text + ")"
	}
	return s
}
