// Package handles is input of lockloop's tests.
package handles

import "time"

type plain struct{}

func (*plain) Lock()   {}
func (*plain) Unlock() {}

type full struct{}

func (*full) Lock()                      {}
func (*full) Unlock()                    {}
func (*full) TryLock() bool              { return true }
func (*full) LockFor(time.Duration) bool { return true }
func (*full) RLock()                     {}
func (*full) RUnlock()                   {}

type halfRead struct{}

func (*halfRead) Lock()   {}
func (*halfRead) Unlock() {}
func (*halfRead) RLock()  {}

type byValue struct{}

func (byValue) Lock()   {}
func (byValue) Unlock() {}
