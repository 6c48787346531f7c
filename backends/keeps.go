package backends

import "lockbench/lock"

// Keeps reports whether its servers have on disk what they had granted when they are killed and started again.
func (t Topology) Keeps() bool { return t.Persistence != keepsNone }

// Forgets reports whether one of its servers can be started without its data and go on serving: only those can
// that owe nobody a vote, and whose data are leases and nothing else.
func (t Topology) Forgets() bool {
	return t.needsData == "" && (t.Service == lock.ServiceRedis || t.Service == lock.ServiceRedlock)
}
