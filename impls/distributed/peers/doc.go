// Package peers lists the distributed locks that people use today, run through
// their own libraries: each in a package of its own, on lease.Client, which gives a grant
// back that comes after its caller has left, and counts it. A library is called as its users
// call it, with the caller's context on his goroutine, and returns when it does; only
// go-zookeeper's Lock knows no context, and is waited for by another goroutine. README.md
// says what they are and what was seen of them.
package peers
