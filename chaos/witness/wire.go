package witness

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The protocol: a client sends a request and waits for its reply, again and again. All numbers are
// little-endian. There is no request that a server answers with an error: what it cannot read
// ends the connection, and what it will not keep does, too.
//
//	request: magic, kind, flags, 0, key length uint16, 0, 0, worker uint32, token uint64, value int64, key
//	reply:   magic, kind, flags, 0, 0, 0, 0, 0, at int64, value int64, fenced value int64
const (
	magic        = 'W'
	requestBytes = 28 // without the key
	replyBytes   = 32

	kindRead  = 1
	kindWrite = 2

	flagToken  = 1 // the request has a token
	flagFenced = 2 // the fenced store took it; in replies
)

// MaxKey is the length in bytes of the longest key.
const MaxKey = 512

// maxWorker is the largest worker: it fits an int on every platform.
const maxWorker = 1<<31 - 1

// errProtocol is what is wrong with bytes from the other side.
var errProtocol = errors.New("not the witness's protocol")

// request is what a client asks for.
type request struct {
	op  Op // Kind, Worker, HasToken, Token, Value
	key string
}

// check says what of a request cannot be sent.
func (r request) check() error {
	switch {
	case r.op.Kind != OpRead && r.op.Kind != OpWrite:
		return fmt.Errorf("kind %q: want %s or %s", r.op.Kind, OpRead, OpWrite)
	case r.key == "" || len(r.key) > MaxKey:
		return fmt.Errorf("a key of %d bytes: want 1 to %d", len(r.key), MaxKey)
	case r.op.Worker < 0 || r.op.Worker > maxWorker:
		return fmt.Errorf("worker %d: want 0 to %d", r.op.Worker, maxWorker)
	}
	return nil
}

// append adds the request's bytes to b. The request has been checked.
func (r request) append(b []byte) []byte {
	kind, flags := byte(kindRead), byte(0)
	if r.op.Kind == OpWrite {
		kind = kindWrite
	}
	if r.op.HasToken {
		flags = flagToken
	}
	b = append(b, magic, kind, flags, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(r.key)))
	b = append(b, 0, 0)
	b = binary.LittleEndian.AppendUint32(b, uint32(r.op.Worker))
	b = binary.LittleEndian.AppendUint64(b, r.op.Token)
	b = binary.LittleEndian.AppendUint64(b, uint64(r.op.Value))
	return append(b, r.key...)
}

// readRequest reads one. io.EOF: the client is done; io.ErrUnexpectedEOF: it ended within a request,
// which then has not arrived.
func readRequest(r io.Reader) (request, error) {
	var h [requestBytes]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return request{}, err
	}
	n := binary.LittleEndian.Uint16(h[4:])
	worker := binary.LittleEndian.Uint32(h[8:])
	switch {
	case h[0] != magic || h[3] != 0 || h[6] != 0 || h[7] != 0:
		return request{}, fmt.Errorf("%w: header %x", errProtocol, h[:8])
	case h[1] != kindRead && h[1] != kindWrite:
		return request{}, fmt.Errorf("%w: kind %d", errProtocol, h[1])
	case h[2]&^flagToken != 0:
		return request{}, fmt.Errorf("%w: flags %#x", errProtocol, h[2])
	case n == 0 || n > MaxKey:
		return request{}, fmt.Errorf("%w: a key of %d bytes", errProtocol, n)
	case worker > maxWorker:
		return request{}, fmt.Errorf("%w: worker %d", errProtocol, worker)
	}
	key := make([]byte, n)
	if _, err := io.ReadFull(r, key); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return request{}, err
	}
	q := request{key: string(key), op: Op{Kind: OpRead, Worker: int(worker)}}
	if h[1] == kindWrite {
		q.op.Kind = OpWrite
		q.op.Value = int64(binary.LittleEndian.Uint64(h[20:]))
	}
	if h[2]&flagToken != 0 {
		q.op.HasToken, q.op.Token = true, binary.LittleEndian.Uint64(h[12:])
	}
	return q, nil
}

// appendReply adds the bytes of what became of op to b.
func appendReply(b []byte, op Op) []byte {
	kind, flags := byte(kindRead), byte(0)
	if op.Kind == OpWrite {
		kind = kindWrite
	}
	if op.Fenced {
		flags = flagFenced
	}
	b = append(b, magic, kind, flags, 0, 0, 0, 0, 0)
	b = binary.LittleEndian.AppendUint64(b, uint64(op.AtNS))
	b = binary.LittleEndian.AppendUint64(b, uint64(op.Value))
	return binary.LittleEndian.AppendUint64(b, uint64(op.FencedValue))
}

// readReply reads what became of op, and fills it in.
func readReply(r io.Reader, op Op) (Op, error) {
	var h [replyBytes]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return Op{}, err
	}
	kind := byte(kindRead)
	if op.Kind == OpWrite {
		kind = kindWrite
	}
	if h[0] != magic || h[1] != kind || h[2]&^flagFenced != 0 || h[3]|h[4]|h[5]|h[6]|h[7] != 0 {
		return Op{}, fmt.Errorf("%w: header %x", errProtocol, h[:8])
	}
	op.Fenced = h[2] == flagFenced
	op.AtNS = int64(binary.LittleEndian.Uint64(h[8:]))
	op.Value = int64(binary.LittleEndian.Uint64(h[16:]))
	op.FencedValue = int64(binary.LittleEndian.Uint64(h[24:]))
	return op, nil
}
