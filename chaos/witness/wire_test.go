package witness

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
)

var requests = []request{
	{op: Op{Kind: OpRead}, key: "k"},
	{op: Op{Kind: OpWrite, Worker: maxWorker, HasToken: true, Token: math.MaxUint64, Value: math.MinInt64}, key: strings.Repeat("k", MaxKey)},
	{op: Op{Kind: OpRead, Worker: 3, HasToken: true}, key: "a\x00b"},
	{op: Op{Kind: OpWrite, Worker: 1, Value: -1}, key: "lockbench/r/1"},
}

func TestRequestsRoundTrip(t *testing.T) {
	var all bytes.Buffer
	for _, r := range requests {
		if err := r.check(); err != nil {
			t.Errorf("%+v: %v", r, err)
		}
		all.Write(r.append(nil))
	}
	for _, want := range requests {
		if got, err := readRequest(&all); err != nil || got != want {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	}
	if _, err := readRequest(&all); !errors.Is(err, io.EOF) {
		t.Errorf("after the last: %v, want io.EOF", err)
	}
}

func TestRepliesRoundTrip(t *testing.T) {
	for _, want := range []Op{
		{Kind: OpRead, Worker: 2, AtNS: 5, Value: -7},
		{Kind: OpWrite, AtNS: math.MaxInt64, HasToken: true, Token: 9, Value: math.MinInt64, Fenced: true, FencedValue: math.MinInt64},
	} {
		asked := Op{Kind: want.Kind, Worker: want.Worker, HasToken: want.HasToken, Token: want.Token}
		if got, err := readReply(bytes.NewReader(appendReply(nil, want)), asked); err != nil || got != want {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
		other := Op{Kind: OpRead}
		if want.Kind == OpRead {
			other.Kind = OpWrite
		}
		if got, err := readReply(bytes.NewReader(appendReply(nil, want)), other); !errors.Is(err, errProtocol) {
			t.Errorf("the reply to a %s, for a %s: got %+v, %v, want errProtocol", want.Kind, other.Kind, got, err)
		}
	}
}

func TestRequestCheck(t *testing.T) {
	for _, r := range []request{
		{op: Op{Kind: "delete"}, key: "k"},
		{op: Op{Kind: OpRead}, key: ""},
		{op: Op{Kind: OpRead}, key: strings.Repeat("k", MaxKey+1)},
		{op: Op{Kind: OpRead, Worker: -1}, key: "k"},
	} {
		if err := r.check(); err == nil {
			t.Errorf("%+v: no error", r)
		}
	}
}

// FuzzRequests: whatever arrives is refused, or is a request that reads the same when it is written again.
func FuzzRequests(f *testing.F) {
	for _, r := range requests {
		f.Add(r.append(nil))
	}
	good := requests[3].append(nil)
	f.Add(good[:len(good)-1])
	f.Add(append([]byte("GET / HTTP/1.1\r\n\r\n"), good...))
	f.Fuzz(func(t *testing.T, in []byte) {
		r, err := readRequest(bytes.NewReader(in))
		if err != nil {
			return
		}
		if err := r.check(); err != nil {
			t.Fatalf("%x was read as %+v: %v", in, r, err)
		}
		again, err := readRequest(bytes.NewReader(r.append(nil)))
		if err != nil || again != r {
			t.Errorf("%x was read as %+v, and that as %+v, %v", in, r, again, err)
		}
		var s stores
		if _, err := s.apply(r.op, 1); err != nil || len(s.log) != 1 {
			t.Errorf("%+v: %v, %d operations logged", r, err, len(s.log))
		}
	})
}

// FuzzReplies: a client takes nothing that does not read the same when it is written again.
func FuzzReplies(f *testing.F) {
	f.Add(appendReply(nil, Op{Kind: OpWrite, AtNS: 1, Value: 2, Fenced: true, FencedValue: 2}))
	f.Add(appendReply(nil, Op{Kind: OpRead})[:7])
	f.Fuzz(func(t *testing.T, in []byte) {
		for _, kind := range []string{OpRead, OpWrite} {
			op, err := readReply(bytes.NewReader(in), Op{Kind: kind})
			if err == nil && !bytes.Equal(appendReply(nil, op), in[:replyBytes]) {
				t.Errorf("%x was read as %+v", in, op)
			}
		}
	})
}
