package zkrecipe

import "encoding/binary"

// Kinds of request, as in ZooKeeper's protocol (org.apache.zookeeper.ZooDefs.OpCode).
const (
	opCreate       = 1
	opDelete       = 2
	opExists       = 3
	opGetData      = 4
	opGetChildren2 = 12
)

// frames cuts what a client writes into its requests: four bytes of length, then xid,
// kind, and for all that interest here the path: a length and its bytes. The first frame
// is the greeting, which has another form.
type frames struct {
	buf     []byte
	greeted bool
	each    func(kind int32, path string) // path is empty if the request has none
}

// maxFrame is far beyond what a lock sends (jute.maxbuffer is 1 MB).
const maxFrame = 4 << 20

// write reads the next bytes. After a frame that cannot be one it counts no more.
func (f *frames) write(p []byte) {
	f.buf = append(f.buf, p...)
	for len(f.buf) >= 4 {
		n := int(binary.BigEndian.Uint32(f.buf))
		if n > maxFrame {
			f.each = func(int32, string) {}
			f.buf = nil
			return
		}
		if len(f.buf) < 4+n {
			return
		}
		f.frame(f.buf[4 : 4+n])
		f.buf = f.buf[4+n:]
	}
	if len(f.buf) == 0 {
		f.buf = nil
	}
}

func (f *frames) frame(p []byte) {
	if !f.greeted {
		f.greeted = true
		f.each(0, "")
		return
	}
	if len(p) < 8 {
		f.each(0, "")
		return
	}
	kind, path := int32(binary.BigEndian.Uint32(p[4:])), ""
	switch kind {
	case opCreate, opDelete, opExists, opGetData, opGetChildren2:
		if p = p[8:]; len(p) >= 4 {
			if n := int(binary.BigEndian.Uint32(p)); n >= 0 && n <= len(p)-4 {
				path = string(p[4 : 4+n])
			}
		}
	}
	f.each(kind, path)
}
