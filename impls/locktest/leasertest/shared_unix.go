//go:build unix

package leasertest

import (
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// claims is the file that all client processes map: who is in the section.
type claims struct {
	mem []byte
	*claimed
}

// claimed is its layout. Cache lines do not matter here.
type claimed struct {
	owner      atomic.Int64 // 0: nobody; else the number of the process or worker inside
	entries    atomic.Int64
	violations atomic.Int64
	counter    int64 // plain, on purpose: two writers at a time lose one
}

// openClaims maps the file, and makes it if it is not there.
func openClaims(path string) (*claims, error) {
	const size = int(unsafe.Sizeof(claimed{}))
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the claims: %w", err)
	}
	defer f.Close()
	if err := f.Truncate(int64(size)); err != nil {
		return nil, fmt.Errorf("size the claims: %w", err)
	}
	mem, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map the claims: %w", err)
	}
	// A mapping begins at a page, which is aligned for any of the fields.
	return &claims{mem, (*claimed)(unsafe.Pointer(&mem[0]))}, nil
}

func (c *claims) close() error { return unix.Munmap(c.mem) }

// enter claims the section; somebody inside is a violation.
func (c *claims) enter(me int64) {
	if !c.owner.CompareAndSwap(0, me) {
		c.violations.Add(1)
	}
	c.entries.Add(1)
}

// leave ends a claim.
func (c *claims) leave(me int64) {
	if !c.owner.CompareAndSwap(me, 0) {
		c.violations.Add(1)
	}
}
