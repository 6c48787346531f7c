package chaos

import (
	"context"
)

// faultHolderKill ends the holder's process with SIGKILL while it writes.
var faultHolderKill = Fault{
	Name: HolderKill, Doc: "the holder's process is killed (SIGKILL)", On: OnHolder, Shape: ShapeHold,
	Steps: func(s *Stage) Steps { return kill(s.Play().Holder) },
}

// kill are the steps that end a party's process. The evidence is the kernel's: it was waited for.
func kill(who *Party) Steps {
	return Steps{
		Inject: func(context.Context) error { return who.Kill() },
		Felt:   who.Died,
	}
}
