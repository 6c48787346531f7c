package backends

import "errors"

// Options say how servers are brought up. The zero value is usable.
type Options struct {
	// RunID is part of the names of containers and networks; empty: "run".
	RunID string
	// Given says, by name of service, where a server is: its URL, or "tc" (or nothing)
	// for one in a container.
	Given map[string]string
	// Images are the names of images, by key: "redis", "etcd", "zookeeper",
	// "postgres", "tools". One that is named is used, whatever else there is.
	Images map[string]string
	// Network is "host", "bridge" or "": host where the platform has it, else bridge.
	Network string
	// Clock makes the wall clocks of Redis servers shiftable (Node.Shift). Each reading of the clock is
	// a system call then: not for measuring speed.
	Clock bool
	// Owner are labels that each container and network gets.
	Owner map[string]string
	// Register is called before a container or a network (kind) of that name is made;
	// forget is called once it is gone. An error means that it is not made. nil: nobody listens.
	Register func(kind, name string) (forget func(), err error)
	// Log is told what takes long or is worth knowing, a line each; nil: nobody
	// listens. It may be called from several goroutines.
	Log func(line string)

	// pick returns n port numbers that are free now; nil: freePorts.
	pick func(n int) ([]int, error)
}

// Kinds of what Options.Register is told of.
const (
	KindContainer = "container"
	KindNetwork   = "network"
)

// Networks of a cluster.
const (
	NetworkHost   = "host" // also of the server in this process
	NetworkBridge = "bridge"
	NetworkGiven  = "given" // the servers are the user's own
)

func (o Options) log(line string) {
	if o.Log != nil {
		o.Log(line)
	}
}

// ErrMissing is wrapped by errors that say that Docker, or an image, is not here: what
// needs servers in containers cannot be had on this machine.
var ErrMissing = errors.New("not available on this machine")

// Error is what went wrong with a backend, and what the user can do about it. It never
// holds a password.
type Error struct {
	Err error
	Tip string
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Hint is what the user can do.
func (e *Error) Hint() string { return e.Tip }

// IsMissing reports whether a cluster could not be started because Docker or the image is
// not here, and not because something went wrong.
func IsMissing(err error) bool { return errors.Is(err, ErrMissing) }
