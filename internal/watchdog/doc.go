// Package watchdog removes what a killed program leaves behind.
//
// The program starts the watchdog, which is the same binary under a hidden verb,
// before its first child or container, and tells it through a pipe of each thing before
// that thing is made. When the pipe ends, however that came about, the watchdog removes
// what has not been taken back, and ends too.
//
//	          hello            hold, drop, docker
//	started ---------> watching <----+
//	   |                  |  |_______|
//	   | no hello         | end of the pipe: the parent closed it, ended, or was killed
//	   v                  v
//	 ended <--------- cleaning: processes, then containers, then networks, then paths;
//	         done or           at most cleanTime
//	         out of time
//
// # Why nothing slips through
//
// A message is at most one page long, and so is written to the pipe whole or not at all
// (POSIX, write: PIPE_BUF). Once Hold has returned, it is in the kernel's buffer, and outlives
// the writer: no answer needs to be waited for. Only then is the thing made. Containers and networks
// are therefore named by the program, never by Docker. A request that the program had just sent
// when it was killed may be carried out after its death: a container that is held but not there is looked for
// again during lingerTime.
//
// A process has no number before it exists. It is held right after its start, and until then it
// must end by itself with its parent: by its parent-death signal (Linux), or at the end of its standard input.
//
// # What it survives
//
// The watchdog has a session of its own, so neither what is typed at the terminal nor its hang-up
// reaches it, and it ignores the signals that ask a process to end: its end is the
// pipe's. What kills both at once (a power cut, the end of a control group) is beyond it: things
// carry their owner's label, and Sweep removes those of dead owners in the next run.
package watchdog
