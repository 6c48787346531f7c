package zkrecipe_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"lockbench/impls/locktest/peertest"
	"lockbench/lock"
)

// queues looks at the nodes of locks, beside whoever makes them.
type queues struct {
	conn *zk.Conn
	root string
}

func watchQueues(t *testing.T, target lock.Target) *queues {
	c, events, err := zk.Connect(target.Addrs, rivalTTL, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	for e := range events {
		if e.State == zk.StateHasSession {
			break
		}
	}
	return &queues{c, "/" + target.Prefix}
}

// count returns the nodes of a key, -1 if the server does not tell.
func (q *queues) count(key string) int {
	names, _, err := q.conn.Children(q.root + key)
	if err != nil {
		return -1
	}
	return len(names)
}

// await waits until a key has n nodes.
func (q *queues) await(key string, n int) error {
	for end := time.Now().Add(peertest.Hang); q.count(key) != n; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("waited in vain for %s to have %d nodes; it has %d", key, n, q.count(key))
		}
	}
	return nil
}
