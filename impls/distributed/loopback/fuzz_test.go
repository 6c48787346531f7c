package loopback

import (
	"bytes"
	"testing"
)

// FuzzRequests: whatever a connection sends, the server's state stays sound.
func FuzzRequests(f *testing.F) {
	f.Add([]byte(`{"id":1,"op":"acquire","key":"k","owner":7}` + "\n" + `{"id":2,"op":"acquire","key":"k","owner":8}` + "\n" + `{"id":3,"op":"release","key":"k","owner":7}` + "\n"))
	f.Add([]byte(`{"id":1,"op":"acquire","key":"k","owner":7,"ttl_ns":1}` + "\n" + `{"id":2,"op":"extend","key":"k","owner":7,"ttl_ns":9223372036854775807}` + "\n"))
	f.Add([]byte(`{"op":"delete"}` + "\n" + `{"op":"apply","owner":1,"delta":5}` + "\n" + `{"op":"value"}` + "\n" + `{"op":"bye"}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		s := &Server{peers: map[*peer]struct{}{}, keys: map[string]*key{}}
		p := &peer{s: s, out: make(chan answer, maxUnread)}
		n := 0
		// What is wrong with the input is not this test's matter.
		_ = lines(bytes.NewReader(in), func(r request) bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			p.send(s.serve(p, r))
			n++
			return n < 1000
		})
		s.mu.Lock()
		defer s.mu.Unlock()
		p.bye = true
		p.gone = true
		s.disconnected(p)
		for name, k := range s.keys {
			if len(k.queue) > 0 || k.holder != nil && k.holder.ttl == 0 {
				t.Errorf("key %q: %d wait and %v holds, of a connection that is gone", name, len(k.queue), k.holder)
			}
			k.stop()
		}
	})
}
