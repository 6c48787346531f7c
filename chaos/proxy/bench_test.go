package proxy

import (
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
)

// BenchmarkRoundTrip is a request of 64 bytes and its reply, with and without a proxy: what a lock
// that polls pays for it.
func BenchmarkRoundTrip(b *testing.B) {
	for _, conns := range []int{1, 16} {
		for _, proxied := range []bool{false, true} {
			b.Run(fmt.Sprintf("conns=%d/proxied=%v", conns, proxied), func(b *testing.B) {
				srv := serve(b)
				s := open(b, srv)
				addr := srv.addr()
				if proxied {
					addr = s.Addr(addr)
				}
				var clients []net.Conn
				for range conns {
					c, err := net.Dial("tcp", addr)
					if err != nil {
						b.Fatal(err)
					}
					b.Cleanup(func() { c.Close() })
					clients = append(clients, c)
					at := srv.next()
					go io.Copy(struct{ io.Writer }{at}, struct{ io.Reader }{at}) // by hand, not in the kernel
				}
				b.ResetTimer()
				var wg sync.WaitGroup
				for i, c := range clients {
					wg.Go(func() {
						buf := make([]byte, 64)
						for range (b.N + conns - 1 - i) / conns {
							if _, err := c.Write(buf); err != nil {
								b.Error(err)
								return
							}
							if _, err := io.ReadFull(c, buf); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				wg.Wait()
			})
		}
	}
}
