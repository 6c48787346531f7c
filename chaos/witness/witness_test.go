package witness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func serve(t testing.TB) *Server {
	t.Helper()
	s, err := Serve(short(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// short makes a directory whose path is short enough for a socket, which t.TempDir's may not be.
func short(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "w")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func dial(t testing.TB, s *Server) *Client {
	t.Helper()
	c, err := Dial(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func token(n uint64) *uint64 { return &n }

func TestReadAndWrite(t *testing.T) {
	s := serve(t)
	c := dial(t, s)
	ctx := t.Context()
	var replies []Op
	do := func(op Op, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		replies = append(replies, op)
	}
	do(c.Read(ctx, "k", 0, token(1)))
	do(c.Write(ctx, "k", 0, token(1), 11))
	do(c.Read(ctx, "k", 1, token(2)))
	do(c.Write(ctx, "k", 0, token(1), 12))
	do(c.Write(ctx, "k", 1, token(2), 12))
	do(c.Write(ctx, "k", 2, nil, 99))
	if _, err := c.Write(ctx, "other", 3, nil, 5); err != nil {
		t.Fatal(err)
	}
	log := s.Log("k")
	if len(log) != len(replies) {
		t.Fatalf("%d operations logged, want %d: %+v", len(log), len(replies), log)
	}
	var fenced string
	for i, op := range log {
		if op != replies[i] {
			t.Errorf("operation %d: logged %+v, replied %+v", i, op, replies[i])
		}
		if i > 0 && op.AtNS < log[i-1].AtNS {
			t.Errorf("operation %d is stamped %d, the one before it %d", i, op.AtNS, log[i-1].AtNS)
		}
		fenced += fmt.Sprintf("%v %d, ", op.Fenced, op.FencedValue)
	}
	if want := "true 0, true 11, true 11, false 11, true 12, false 0, "; fenced != want {
		t.Errorf("the fenced store: got %s want %s", fenced, want)
	}
	log[0].Worker = 77
	if got := s.Log("k")[0].Worker; got != 0 {
		t.Errorf("Log returned the server's own slice: worker %d", got)
	}
	s.Forget("k")
	if got := s.Log("k"); len(got) != 0 {
		t.Errorf("after Forget: %+v", got)
	}
	if got := s.Log("other"); len(got) != 1 {
		t.Errorf("the other key: %+v, want one operation", got)
	}
	if op, err := c.Read(ctx, "k", 0, token(1)); err != nil || !op.Fenced || op.Value != 0 {
		t.Errorf("a forgotten key: %+v, %v, want a new one", op, err)
	}
}

// TestManyAtOnce: a client's goroutines do not wait for each other, and nothing is lost or done twice.
func TestManyAtOnce(t *testing.T) {
	s := serve(t)
	const clients, workers, writes = 3, 4, 100
	var wg sync.WaitGroup
	for i := range clients {
		c := dial(t, s)
		for j := range workers {
			worker := i*workers + j
			wg.Go(func() {
				for n := range writes {
					op, err := c.Write(t.Context(), "k", worker, token(uint64(n)), int64(n))
					if err != nil || op.Worker != worker || op.Value != int64(n) {
						t.Errorf("worker %d, write %d: %+v, %v", worker, n, op, err)
						return
					}
				}
			})
		}
	}
	wg.Wait()
	next := map[int]int64{}
	var last int64
	var highest uint64
	for i, op := range s.Log("k") {
		if op.Value != next[op.Worker] {
			t.Errorf("operation %d of the log: worker %d wrote %d, want %d", i, op.Worker, op.Value, next[op.Worker])
		}
		if op.AtNS < last {
			t.Errorf("operation %d of the log: stamp %d after %d", i, op.AtNS, last)
		}
		if op.Fenced != (op.Token >= highest) {
			t.Errorf("operation %d of the log: token %d after %d, taken: %v", i, op.Token, highest, op.Fenced)
		}
		next[op.Worker], last, highest = op.Value+1, op.AtNS, max(highest, op.Token)
	}
	if len(next) != clients*workers {
		t.Errorf("%d workers in the log, want %d", len(next), clients*workers)
	}
	for w, n := range next {
		if n != writes {
			t.Errorf("worker %d: %d writes logged, want %d", w, n, writes)
		}
	}
}

// TestBadClients: what a client sends ends its own connection, at most.
func TestBadClients(t *testing.T) {
	s := serve(t)
	good := request{op: Op{Kind: OpWrite, Value: 1}, key: "k"}.append(nil)
	for name, in := range map[string][]byte{
		"nothing":             nil,
		"half a request":      good[:len(good)-1],
		"another protocol":    []byte("GET / HTTP/1.1\r\nHost: witness.invalid\r\n\r\n"),
		"a key that is long":  append([]byte{magic, kindRead, 0, 0, 0xff, 0xff, 0, 0}, make([]byte, 1<<17)...),
		"a good one, then no": append(append([]byte{}, good...), "and then this, which is no request"...),
	} {
		nc, err := net.Dial("unix", s.Path())
		if err != nil {
			t.Fatal(err)
		}
		// The server may have ended the connection before all was written.
		_, _ = nc.Write(in)
		if err := nc.(*net.UnixConn).CloseWrite(); err != nil && len(in) < 1000 {
			t.Errorf("%s: %v", name, err)
		}
		got, _ := io.ReadAll(nc) // until the server closes: an error is an end, too
		want := 0
		if strings.HasPrefix(name, "a good one") {
			want = replyBytes
		}
		if len(got) != want {
			t.Errorf("%s: %d bytes of reply, want %d", name, len(got), want)
		}
		nc.Close()
	}
	c := dial(t, s)
	if op, err := c.Read(t.Context(), "k", 0, nil); err != nil || op.Value != 1 {
		t.Errorf("a good client afterwards: %+v, %v, want value 1", op, err)
	}
	if log := s.Log("k"); len(log) != 2 {
		t.Errorf("the log: %+v, want the one good write and the read", log)
	}
}

// TestClientDiesBeforeTheReply: what has arrived counts.
func TestClientDiesBeforeTheReply(t *testing.T) {
	s := serve(t)
	nc, err := net.Dial("unix", s.Path())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nc.Write(request{op: Op{Kind: OpWrite, Worker: 4, Value: 8}, key: "k"}.append(nil)); err != nil {
		t.Fatal(err)
	}
	nc.Close()
	for len(s.Log("k")) == 0 {
		if t.Context().Err() != nil {
			t.Fatal("the write was not logged")
		}
		time.Sleep(time.Millisecond)
	}
	if op := s.Log("k")[0]; op.Worker != 4 || op.Value != 8 {
		t.Errorf("logged %+v, want worker 4's write of 8", op)
	}
}

// silent is a server that takes requests and never replies.
func silent(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(short(t), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			go io.Copy(io.Discard, nc)
		}
	}()
	return path
}

func TestContextEndsTheWait(t *testing.T) {
	c, err := Dial(silent(t))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if op, err := c.Read(ctx, "k", 0, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a read without a reply: %+v, %v, want its deadline", op, err)
	}
	if op, err := c.Read(ctx, "k", 0, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a read after the deadline: %+v, %v, want it", op, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.all) != 0 || len(c.idle) != 0 {
		t.Errorf("%d connections, %d idle: want the one whose reply may still come to be closed", len(c.all), len(c.idle))
	}
}

func TestCloseEndsOperations(t *testing.T) {
	c, err := Dial(silent(t))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() {
		_, err := c.Write(t.Context(), "k", 0, nil, 1)
		ended <- err
	}()
	time.Sleep(5 * time.Millisecond) // perhaps it has begun, perhaps not: it ends in both cases
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err == nil {
		t.Error("a write without a reply returned nil")
	}
	if op, err := c.Read(t.Context(), "k", 0, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("a read after Close: %+v, %v, want ErrClosed", op, err)
	}
}

func TestServerClose(t *testing.T) {
	dir := short(t)
	s, err := Serve(dir)
	if err != nil {
		t.Fatal(err)
	}
	c := dial(t, s)
	if _, err := c.Write(t.Context(), "k", 0, nil, 1); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if log := s.Log("k"); len(log) != 1 {
		t.Errorf("the log after Close: %+v, want the write", log)
	}
	if op, err := c.Read(t.Context(), "k", 0, nil); err == nil {
		t.Errorf("a read from a closed server: %+v", op)
	}
	if _, err := Dial(s.Path()); err == nil {
		t.Error("a closed server was dialled")
	}
}

func TestServeRefuses(t *testing.T) {
	if _, err := Serve(filepath.Join(short(t), "is-not-there")); err == nil {
		t.Error("a directory that is not there: no error")
	}
	deep := filepath.Join(short(t), strings.Repeat("d", maxPath))
	if err := os.Mkdir(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Serve(deep); err == nil || !strings.Contains(err.Error(), "shorter") {
		t.Errorf("a path that no socket can have: %v, want the advice of a shorter one", err)
	}
	if left, err := os.ReadDir(deep); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func BenchmarkWrite(b *testing.B) {
	s := serve(b)
	c := dial(b, s)
	for i := 0; b.Loop(); i++ {
		if i%MaxOps == MaxOps-1 {
			s.Forget("k")
		}
		if _, err := c.Write(b.Context(), "k", 0, token(1), 1); err != nil {
			b.Fatal(err)
		}
	}
}
