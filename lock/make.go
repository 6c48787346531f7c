package lock

import "fmt"

// Ctor makes an Info.New of a constructor that cannot fail: it refuses fewer
// than one worker.
func Ctor[L Lock](build func(workers int) L) func(workers int) (Lock, error) {
	return func(workers int) (Lock, error) {
		if workers < 1 {
			return nil, fmt.Errorf("%d workers: want at least 1", workers)
		}
		return build(workers), nil
	}
}
