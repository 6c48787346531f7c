//go:build unix

package proxy

import (
	"context"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// A port that refuses connections must not be taken by another socket before it
// accepts again. A second socket, bound and never listening, keeps it;
// SO_REUSEPORT lets both have it.

func listen(addr string) (net.Listener, error) {
	lc := net.ListenConfig{Control: func(_, _ string, rc syscall.RawConn) error {
		var err error
		if e := rc.Control(func(fd uintptr) { err = share(int(fd)) }); e != nil {
			return e
		}
		return err
	}}
	return lc.Listen(context.Background(), "tcp4", addr)
}

func reserve(a *net.TCPAddr) (release func(), err error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, err
	}
	unix.CloseOnExec(fd)
	sa := &unix.SockaddrInet4{Port: a.Port}
	copy(sa.Addr[:], a.IP.To4())
	if err = share(fd); err == nil {
		err = unix.Bind(fd, sa)
	}
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return func() { unix.Close(fd) }, nil
}

func share(fd int) error { return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1) }
