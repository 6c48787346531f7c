// Package peers lists the distributed locks that people use today, run through
// their own libraries: each in a package of its own, on lease.Client, so that a
// caller that leaves returns at once and a grant that comes late is given back and
// counted. README.md says what they are and what was seen of them.
package peers
