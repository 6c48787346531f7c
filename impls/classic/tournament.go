package classic

import (
	"math/bits"

	"lockbench/lock"
)

// tournamentLock is a binary tree of Peterson locks. A worker starts at its
// leaf and must win every node up to the root, ceil(log2 n) of them, where
// the filter needs n-1 levels.
//
//	               node 1                 heap order: node k has the children
//	        0 /             \ 1           2k and 2k+1, which play on its sides
//	     node 2             node 3        0 and 1
//	   0 /    \ 1         0 /    \ 1
//	worker 0  worker 1  worker 2  worker 3
//
// Exclusion: a side of a node is used only by the holder of the child on
// that side, and a leaf's child is a single worker. So by induction from the
// leaves every node is a Peterson lock between at most two, and the root has
// one holder.
//
// Exit: from the root down to the leaf. The other direction is wrong: once the
// child is free, its next holder may announce itself on the very side of the
// parent that we are about to clear, and loses its announcement. Each store
// is a release store (peterson.go); they become visible in the order in which
// they are made, which is all that the argument needs: a worker that saw the
// child free has the root's release before it.
//
// Nobody starves, as no Peterson node lets a side be passed twice, but
// arrivals in different subtrees have no order: no FIFO.
//
// A lock for one worker has no node; its Lock has nobody to exclude.
type tournamentLock struct {
	height int
	nodes  []petersonLock // heap order from 1; entry 0 is not used
}

// tournamentHandle has the worker's way from its leaf to the root.
type tournamentHandle struct {
	path []petersonHandle
}

var _ lock.Handle = (*tournamentHandle)(nil)

func newTournament(workers int) (lock.Lock, error) {
	height := bits.Len(uint(workers - 1)) // the smallest with 1<<height >= workers
	return &tournamentLock{height: height, nodes: make([]petersonLock, 1<<height)}, nil
}

// NewHandle implements lock.Lock. The leaves take the places in the heap
// behind the nodes.
func (l *tournamentLock) NewHandle(w *lock.Worker) lock.Handle {
	h := &tournamentHandle{path: make([]petersonHandle, 0, l.height)}
	for place := len(l.nodes) + w.ID; place > 1; place /= 2 {
		h.path = append(h.path, l.nodes[place/2].side(place%2))
	}
	return h
}

// Lock wins the nodes from the leaf to the root.
func (h *tournamentHandle) Lock() {
	for i := range h.path {
		h.path[i].Lock()
	}
}

// Unlock leaves the nodes from the root to the leaf.
func (h *tournamentHandle) Unlock() {
	for i := len(h.path) - 1; i >= 0; i-- {
		h.path[i].Unlock()
	}
}
