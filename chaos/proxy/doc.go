// Package proxy stands between one client process and its servers, and holds, delays, loses or resets
// what passes when a fault says so. It runs in the harness's own process, one proxy per client and
// server: a fault hits the connections of one client and of nobody else. docs/adr/0020 says why
// it is not Toxiproxy.
//
// A connection is a link of two pipes, one per direction:
//
//	accepted --+-- held: no server yet, requests pile up --Heal--+
//	           +-------------------------------------------------+--> dialling --server answers--> open
//	accepted, held, dialling --the client resets, or the server is away--> gone (RST to the client)
//	open --both ends delivered--> gone (FIN)
//	open --a reset delivered--> gone (RST)
//	any --Reset--> gone (RST to both)
//	open, a reply held --LoseReplies--> gone (RST to the client, FIN to the server)
//	any --Close--> gone (RST to both)
//
// and a pipe is in one of three states:
//
//	passing --Hold, HoldReplies--> held --Heal--> passing
//	passing --Slow--> slow --Heal, Slow(0)--> passing
//	slow --Hold, HoldReplies--> held
//
// Passing, the goroutine that has read from one side writes to the other: there is no queue. Held and
// slow, it reads on, and what it read waits in a queue: bytes, the end of the stream (FIN) and a reset
// alike. The queue is emptied in order, and only then the pipe passes again. What one side does
// therefore reaches the other through its queue only; a write that fails says something of the side
// that is written to, and that, too, goes back through the queue of that side's own direction.
//
// Held is exact: when Hold returns, no byte and no end of stream is given to the kernel any more
// until Heal. A connection that was being made at that moment may still be made; it carries nothing.
// Unlike a real cut, the proxy's kernel acknowledges what either side sends: nobody's retransmission
// timer runs, and keepalives are answered.
package proxy
