package chaos

// faultWaiterKill ends the process that is next in line. What counts is when the one after it gets in.
var faultWaiterKill = Fault{
	Name: WaiterKill, Doc: "the process that is next in line is killed (SIGKILL), then the holder releases", On: OnNext, Shape: ShapeWait,
	Steps: func(s *Stage) Steps { return kill(s.Play().Next) },
}
