// Package backends brings up the servers that distributed locks run on, or
// reaches those that the user names by URL.
//
// Open starts a topology in containers, through testcontainers-go, and returns a
// Cluster once every server really answers: a ping, a health check, a quorum; never
// a line in a log. A Cluster has Nodes, which can be killed, paused, resumed and
// restarted with their data or without: chaos builds on that.
//
// # Networks
//
// Servers are reached at 127.0.0.1 only. With host networking, which costs nothing
// (a published port goes through a process that copies bytes: 9.3 k SET/s against 16 k,
// measured with one client), every listener is bound to 127.0.0.1 by the server's own
// settings. Where the platform has no host networking (Docker Desktop, rootless Docker)
// or a bridge is asked for, servers listen inside of their container, and their ports are
// published on 127.0.0.1 with the same numbers. Port numbers are picked here, below
// the range from which the system takes those of outgoing connections: a number from that
// range could be taken while a killed server is down, and a client that tries again and again
// to reach it could be given that very number for its own end, and so be connected to itself.
//
// On bridges, servers that talk to each other do so over a network of their own, off which each can be taken
// (Isolate) while its clients still reach it; their addresses do not change. Where Docker is this machine's, clients can
// reach the inside of a container, and a server's packets to single clients can be dropped there (Inner, Drop).
//
// # What is left behind
//
// Nothing. Close removes containers and networks. Each is announced to Options.Register
// before it is made, so that a watchdog can remove what a killed program could not, and carries the
// owner's labels; testcontainers' own reaper, Ryuk, is used as well where its image can be had.
//
// Data is on the containers' own file systems, never on tmpfs, so that what a server
// syncs costs what it costs. docker kill keeps the page cache: a power loss is out of reach here.
package backends
