package compare

import (
	"errors"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"lockbench/internal/near"
)

// A Filter keeps some cells. Of several, a cell must match one of each key.
type Filter struct {
	Text    string // as given
	key     string // lock, workload, workers; "" = the cell's name
	pattern string
}

// Named is what filters look at.
type Named struct {
	Cell, Lock, Workload string
	Workers              int
}

var filterKeys = []string{"lock", "workload", "workers"}

// hasKey tells "lock=mcs" from a pattern of cell names, which have "=" as well,
// but only behind a "/" or a "*".
var hasKey = regexp.MustCompile(`^[a-z][a-z_-]*=`)

// ParseFilter reads "lock=glob", "workload=glob", "workers=glob" or a glob of
// whole cell names. Globs have *, ? and [...]; * matches a slash as well. The
// error is an *Error.
func ParseFilter(text string) (Filter, error) {
	f := Filter{Text: text, pattern: text}
	if hasKey.MatchString(text) {
		f.key, f.pattern, _ = strings.Cut(text, "=")
		if !slices.Contains(filterKeys, f.key) {
			did := ""
			if n := near.Names(f.key, filterKeys); len(n) > 0 {
				did = "did you mean " + n[0] + "=? "
			}
			return f, refuse(did+"a filter is a pattern of cell names, or "+strings.Join(filterKeys, "=, ")+"= and a pattern", "filter %q: unknown key %q", text, f.key)
		}
	}
	if f.pattern == "" {
		return f, refuse("for instance lock=mcs*, workers=2, or '*/workload=moderate/*'", "filter %q: the pattern is empty", text)
	}
	if _, err := path.Match(flat(f.pattern), ""); errors.Is(err, path.ErrBadPattern) {
		return f, refuse("patterns have *, ? and [...]", "filter %q: bad pattern", text)
	}
	return f, nil
}

// flat replaces slashes, which path.Match's * would stop at.
func flat(s string) string { return strings.ReplaceAll(s, "/", "\x01") }

// Match reports whether the cell is kept.
func (f Filter) Match(n Named) bool {
	var name string
	switch f.key {
	case "lock":
		name = n.Lock
	case "workload":
		name = n.Workload
	case "workers":
		name = strconv.Itoa(n.Workers)
	default:
		name = n.Cell
	}
	ok, err := path.Match(flat(f.pattern), flat(name))
	return name == f.pattern || err == nil && ok
}

// filter keeps those of all that every key's filters match. A filter that
// matches nothing is an error: it is mistyped, or the cell is missing.
func filter[T any](filters []Filter, all []T, named func(T) Named) ([]T, error) {
	if len(all) == 0 {
		return nil, refuse("the runs ended before their first repetition; measure again", "there are no cells to compare")
	}
	keys := map[string]bool{}
	for _, f := range filters {
		keys[f.key] = true
		if !slices.ContainsFunc(all, func(c T) bool { return f.Match(named(c)) }) {
			return nil, refuse("cells: "+examples(all, named), "filter %q matches no cell", f.Text)
		}
	}
	var kept []T
	for _, c := range all {
		n, have := named(c), map[string]bool{}
		for _, f := range filters {
			have[f.key] = have[f.key] || f.Match(n)
		}
		pass := true
		for k := range keys {
			pass = pass && have[k]
		}
		if pass {
			kept = append(kept, c)
		}
	}
	if len(kept) == 0 {
		return nil, refuse("cells: "+examples(all, named), "the filters together match no cell")
	}
	return kept, nil
}

// examples are the first few names.
func examples[T any](all []T, named func(T) Named) string {
	const most = 4
	var out []string
	for _, c := range all[:min(most, len(all))] {
		out = append(out, named(c).Cell)
	}
	if len(all) > most {
		out = append(out, "... ("+strconv.Itoa(len(all))+" in all)")
	}
	return strings.Join(out, ", ")
}

func list(words []string) string { return strings.Join(words, ", ") }
