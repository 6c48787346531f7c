//go:build amd64 && !race

package arch

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestStubIsOnePlainStore disassembles this test program: the stub's body must
// be one move to memory, and no locked instruction.
func TestStubIsOnePlainStore(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, move := range map[string]string{"StoreRelease32": "MOVL BX, 0(AX)", "StoreRelease64": "MOVQ BX, 0(AX)"} {
		out, err := exec.Command("go", "tool", "objdump", "-s", `^lockbench/lock/arch\.`+name+`$`, exe).CombinedOutput()
		if err != nil {
			t.Skipf("no disassembler: %v: %s", err, out)
		}
		body := string(out)
		if strings.Count(body, move) != 1 || !strings.Contains(body, "RET") {
			t.Errorf("%s: want one %q in\n%s", name, move, body)
		}
		if m := regexp.MustCompile(`XCHG|LOCK|MFENCE|CALL`).FindString(body); m != "" {
			t.Errorf("%s: %s in\n%s", name, m, body)
		}
	}
}
