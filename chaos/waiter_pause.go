package chaos

// faultWaiterPause stops the process that is next in line. It may be granted the lock meanwhile, and wake up late.
var faultWaiterPause = Fault{
	Name: WaiterPause, Doc: "the process that is next in line stands still (SIGSTOP), then the holder releases", On: OnNext, Shape: ShapeWait,
	Params: []Param{{Name: "pause_ms", Doc: "how long; by default the TTL, a tick of the server and 1 s", Min: 1, Max: 600_000}},
	Watch:  watchFor("pause_ms"),
	Steps:  func(s *Stage) Steps { return stop(s.Play().Next) },
}
