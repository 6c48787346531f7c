package chaos

// faultWaiterCutoff cuts the process that is next in line off from its servers.
var faultWaiterCutoff = Fault{
	Name: WaiterCutoff, Doc: "the network between the process next in line and its servers holds everything back, then the holder releases",
	On: OnNext, Shape: ShapeWait, Proxied: true,
	Params: []Param{{Name: "cut_ms", Doc: "how long; by default the TTL, a tick of the server and 1 s", Min: 1, Max: 600_000}},
	Watch:  watchFor("cut_ms"),
	Steps:  func(s *Stage) Steps { return cut(s.Play().Next) },
}
