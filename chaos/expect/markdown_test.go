package expect

import (
	"fmt"
	"strings"
	"testing"
)

func TestMarkdown(t *testing.T) {
	var b strings.Builder
	if err := mustLoad(t, small).Markdown(&b, smallSubjects, []string{"none", "pause", "other"}); err != nil {
		t.Fatal(err)
	}
	const want = `### none

| locks | policy | expected | why |
|---|---|---|---|
| a, b | careful, careless | safe | Nothing happens. (paper) |
| c | guarded | safe | Nothing happens. (paper) |

Next grant within:

- a, b, c: ` + "`T`" + `

### pause

| locks | policy | expected | why |
|---|---|---|---|
| a | careful | unsafe | It is late. (paper, manual) **Seen: safe.** It is faster. See docs/F.md#a-b. |
| a, b | careless | safe-with-fence | It is refused. (manual) |
| b | careful | unsafe | It is late. (paper, manual) |
| c on two-x | guarded | unsafe | It is late. (paper, manual) |

Next grant within:

- a; b on one: ` + "`T`" + `
- b on two-x: ` + "`T + poll`" + `

Skipped:

- c on one: There is none.

### Sources
`
	if got := b.String(); !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s\nwant it to begin with\n%s", got, want)
	}
	for _, part := range []string{"- `paper`: Somebody, Something, 1999\n", "| `poll` | "} {
		if !strings.Contains(b.String(), part) {
			t.Errorf("got\n%s\nwant %q in it", b.String(), part)
		}
	}
}

// TestMarkdownOthers: very many locks are not spelled out.
func TestMarkdownOthers(t *testing.T) {
	table := mustLoad(t, "rules:\n- cells:\n  - {verdict: skipped, why: No.}\n  - {locks: [l0], verdict: skipped, why: Never.}\n- faults: [loss]\n  cells: [{verdict: skipped, why: None.}]")
	var subjects []Subject
	for i := range few + 2 {
		subjects = append(subjects, Subject{Lock: fmt.Sprintf("l%d", i), Topologies: []string{"here"}, Faults: []string{"exit", "loss"}, Policies: []string{"plain"}})
	}
	var b strings.Builder
	if err := table.Markdown(&b, subjects, []string{"exit", "loss"}); err != nil {
		t.Fatal(err)
	}
	const want = "### exit\n\nSkipped:\n\n- l0: Never.\n- all others: No.\n\n### loss\n\nSkipped:\n\n- all: None.\n\n"
	if got := b.String(); !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s\nwant it to begin with\n%s", got, want)
	}
}
