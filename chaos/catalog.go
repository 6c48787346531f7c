package chaos

import (
	"slices"

	"lockbench/internal/near"
)

// Names of the faults. The list of Faults is the catalogue; each is in the file of its name.
const (
	None           = "none"
	HolderKill     = "holder-kill"
	HolderPause    = "holder-pause"
	HolderCutoff   = "holder-cutoff"
	HolderVanish   = "holder-vanish"
	HolderReset    = "holder-reset"
	HolderSlow     = "holder-slow"
	StaleUnlock    = "stale-unlock"
	CancelAcquire  = "cancel-acquire"
	ReplyLost      = "reply-lost"
	RenewalStop    = "renewal-stop"
	WaiterKill     = "waiter-kill"
	WaiterPause    = "waiter-pause"
	WaiterCutoff   = "waiter-cutoff"
	ServerKill     = "server-kill"
	ServerRestart  = "server-restart"
	ServerEmpty    = "server-restart-empty"
	ServerPause    = "server-pause"
	LeaderKill     = "leader-kill"
	ReplicaPromote = "replica-promote"
	MinorityCutoff = "minority-cutoff"
	QuorumLoss     = "quorum-loss"
	ClockForward   = "clock-forward"
	ClockBack      = "clock-back"
	ConnTerminate  = "conn-terminate"
	BareQuorum     = "bare-quorum"
	GoroutineExit  = "goroutine-exit"
	PanicInSection = "panic-in-section"
	StalledHolder  = "stalled-holder"
)

var faults = []Fault{
	faultNone,
	faultHolderKill, faultHolderPause, faultHolderCutoff, faultHolderVanish, faultHolderReset, faultHolderSlow,
	faultStaleUnlock, faultCancelAcquire, faultReplyLost, faultRenewalStop,
	faultWaiterKill, faultWaiterPause, faultWaiterCutoff,
	faultServerKill, faultServerRestart, faultServerEmpty, faultServerPause, faultLeaderKill, faultReplicaPromote,
	faultMinorityCutoff, faultQuorumLoss, faultClockForward, faultClockBack, faultConnTerminate, faultBareQuorum,
	faultGoroutineExit, faultPanic, faultStalled,
}

// Faults returns the catalogue, in its order.
func Faults() []Fault { return slices.Clone(faults) }

// Named returns the fault of that name, or an error that lists near ones.
func Named(name string) (Fault, error) {
	var names []string
	for _, f := range faults {
		if f.Name == name {
			return f, nil
		}
		names = append(names, f.Name)
	}
	return Fault{}, &near.UnknownError{What: "fault", Name: name, Near: near.Names(name, names)}
}
