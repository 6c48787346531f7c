package expect

import (
	"strings"
	"testing"
)

func TestMarkdown(t *testing.T) {
	var b strings.Builder
	if err := mustLoad(t, small).Markdown(&b, smallSubjects, []string{"none", "pause", "other"}); err != nil {
		t.Fatal(err)
	}
	const want = `### none

| lock | careful | careless | guarded | next grant within | why |
|---|---|---|---|---|---|
| a, b | safe | safe | - | ` + "`T`" + ` | Nothing happens. (paper) |
| c | - | - | safe | ` + "`T`" + ` | Nothing happens. (paper) |

### pause

| lock | careful | careless | guarded | next grant within | why |
|---|---|---|---|---|---|
| a | unsafe | safe-with-fence | - | ` + "`T`" + ` | careful: It is late. (paper, manual) **Seen: safe.** It is faster. See docs/F.md#a-b. careless: It is refused. (manual) |
| b on one | unsafe | safe-with-fence | - | ` + "`T`" + ` | careful: It is late. (paper, manual) careless: It is refused. (manual) |
| b on two-x | unsafe | safe-with-fence | - | ` + "`T + poll`" + ` | careful: It is late. (paper, manual) careless: It is refused. (manual) |
| c on two-x | - | - | unsafe | - | It is late. (paper, manual) |
| c on one | - | - | skipped | - | There is none. |

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

// TestMarkdownOthers: of many locks the largest row is not spelled out.
func TestMarkdownOthers(t *testing.T) {
	table := mustLoad(t, "rules:\n- cells:\n  - {verdict: skipped, why: No.}\n  - {locks: [c], verdict: skipped, why: Never.}")
	var subjects []Subject
	for _, name := range []string{"a", "b", "c"} {
		subjects = append(subjects, Subject{Lock: name, Topologies: []string{"here"}, Faults: []string{"exit"}, Policies: []string{"plain"}})
	}
	var b strings.Builder
	if err := table.Markdown(&b, subjects, []string{"exit"}); err != nil {
		t.Fatal(err)
	}
	const want = "### exit\n\n| lock | plain | next grant within | why |\n|---|---|---|---|\n| all others | skipped | - | No. |\n| c | skipped | - | Never. |\n"
	if got := b.String(); !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s\nwant it to begin with\n%s", got, want)
	}
}
