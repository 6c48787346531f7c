package backends

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"

	"lockbench/lock"
)

// zkAtOnce is how many requests are under way at a time: the library sends them on one
// connection, and the server answers them in order, so that a thousand cost a few round trips.
const zkAtOnce = 256

// zkNames lists all nodes below a slash and prefix, as the leader knows them.
func zkNames(ctx context.Context, t lock.Target, prefix string) ([]string, error) {
	var out []string
	err := withZK(ctx, t, func(c *zk.Conn) error {
		parent, base := path.Split("/" + prefix)
		parent = strings.TrimSuffix(parent, "/")
		// The server that is asked may lag behind.
		if _, err := c.Sync(parent); err != nil && !errors.Is(err, zk.ErrNoNode) {
			return fmt.Errorf("sync %s: %w", parent, err)
		}
		names, _, err := c.Children(parent)
		if errors.Is(err, zk.ErrNoNode) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("list %s: %w", parent, err)
		}
		var level []string
		for _, name := range names {
			if strings.HasPrefix(name, base) {
				level = append(level, parent+"/"+name)
			}
		}
		for len(level) > 0 && err == nil {
			var found []string
			found, level, err = zkLevel(ctx, c, level)
			out = append(out, found...)
		}
		return err
	})
	return out, err
}

// zkLevel describes nodes, and returns their children. One that is gone by now is left out.
func zkLevel(ctx context.Context, c *zk.Conn, paths []string) (found, below []string, err error) {
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(zkAtOnce)
	for _, p := range paths {
		g.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			names, stat, err := c.Children(p) // and the node's own stat
			if errors.Is(err, zk.ErrNoNode) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("list %s: %w", p, err)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, name := range names {
				below = append(below, p+"/"+name)
			}
			if stat.EphemeralOwner != 0 {
				p = fmt.Sprintf("%s (ephemeral, session 0x%x)", p, stat.EphemeralOwner)
			}
			found = append(found, p)
			return nil
		})
	}
	return found, below, g.Wait()
}
