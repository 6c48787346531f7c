//go:build !unix

package proxy

import "net"

func listen(addr string) (net.Listener, error) { return net.Listen("tcp4", addr) }

func reserve(*net.TCPAddr) (release func(), err error) { return func() {}, nil }
