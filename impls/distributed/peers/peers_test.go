package peers_test

import (
	"testing"

	"lockbench/impls/distributed/peers"
)

func TestInfos(t *testing.T) {
	seen := map[string]bool{}
	for _, i := range peers.Infos() {
		if err := i.Validate(); err != nil {
			t.Error(err)
		}
		if i.Remote.Peer == "" || seen[i.Name] {
			t.Errorf("%s: peer %q, seen before: %v", i.Name, i.Remote.Peer, seen[i.Name])
		}
		seen[i.Name] = true
	}
	if len(seen) != 5 {
		t.Errorf("%d peers, want 5", len(seen))
	}
}
