// Package loopback is the harness's own lock server, and the locks on it. The
// server is a goroutine of the process that starts it, and speaks a small
// protocol over TCP; the clients are like those of any other service. They are
// the controls of the harness: locks of which is known what they do.
//
//   - control-perfect never lets two in, and never expires while its holder lives;
//   - control-ttl is a correct lease that expires, with fencing tokens;
//   - control-naive is the classic mistake: its release deletes whatever is there;
//   - null-lease locks nothing, and asks nobody: what the harness itself costs.
//
// The protocol is one JSON object a line, many requests at a time on one
// connection. A grant is known by its owner, a random number that the client has
// chosen: so a request whose reply was lost can be repeated, or undone.
package loopback
