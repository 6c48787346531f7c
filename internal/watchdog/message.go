package watchdog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
)

// wireVersion is the version of the messages. Both ends are the same binary: another
// version means that the file was replaced while the program ran.
const wireVersion = 1

// maxMessage bounds a message with its line end, in bytes: POSIX's least PIPE_BUF is 512, but both
// systems that are built for have more: 4096 on Linux (pipe(7)), 512 on Darwin, where a longer one could be
// cut only if the pipe, of 16 KiB, were full.
const maxMessage = 4096

// Operations: what a message is.
const (
	opHello  = "hello"  // first: Owner, Dirs
	opHold   = "hold"   // ID, Kind, and Name or PID and Start
	opDrop   = "drop"   // ID: is gone
	opDocker = "docker" // Name: the engine's address, for all containers and networks
	opReady  = "ready"  // answer to hello
	opDone   = "done"   // last, from the watchdog: Left
)

// Kinds of what is held.
const (
	KindProcess   = "process"
	KindContainer = "container"
	KindNetwork   = "network"
	KindPath      = "path"
)

// message is a line on the pipe, in JSON.
type message struct {
	Version int      `json:"v"`
	Op      string   `json:"op"`
	ID      uint64   `json:"id,omitempty"` // of a held thing: counted from 1
	Kind    string   `json:"kind,omitempty"`
	Name    string   `json:"name,omitempty"` // of a container or network, or its id; a path
	PID     int      `json:"pid,omitempty"`
	Start   uint64   `json:"start,omitempty"` // as Owner.Start
	Owner   string   `json:"owner,omitempty"`
	Dirs    []string `json:"dirs,omitempty"` // absolute; paths outside of them are not removed
	Left    []string `json:"left,omitempty"` // what could not be removed, for people
}

var errMessage = errors.New("bad message to the watchdog")

// encode returns m as a line.
func encode(m message) ([]byte, error) {
	m.Version = wireVersion
	if err := m.check(); err != nil {
		return nil, err
	}
	b, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errMessage, err)
	}
	if len(b) >= maxMessage {
		return nil, fmt.Errorf("%w: %d bytes: want less than %d", errMessage, len(b), maxMessage)
	}
	return append(b, '\n'), nil
}

// decode reads a line, with or without its end.
func decode(line []byte) (message, error) {
	var m message
	if len(line) > maxMessage {
		return m, fmt.Errorf("%w: %d bytes", errMessage, len(line))
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		return message{}, fmt.Errorf("%w: %w", errMessage, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return message{}, fmt.Errorf("%w: more than one on a line", errMessage)
	}
	if m.Version != wireVersion {
		return message{}, fmt.Errorf("%w: version %d, want %d", errMessage, m.Version, wireVersion)
	}
	return m, m.check()
}

// check reports whether m says all that its operation needs. A name that Docker would
// take for something else (it becomes part of a URL), and a path that is not absolute and clean, are refused.
func (m message) check() error {
	ok := false
	switch m.Op {
	case opHello:
		_, err := ParseOwner(m.Owner)
		ok = err == nil
		for _, d := range m.Dirs {
			ok = ok && filepath.IsAbs(d)
		}
	case opHold:
		switch m.Kind {
		case KindProcess:
			// 0 and negative numbers are groups, 1 is init.
			ok = m.PID > 1 && m.Name == ""
		case KindContainer, KindNetwork:
			ok = dockerName(m.Name) && m.PID == 0
		case KindPath:
			ok = filepath.IsAbs(m.Name) && filepath.Clean(m.Name) == m.Name && m.PID == 0
		}
		ok = ok && m.ID > 0
	case opDrop:
		ok = m.ID > 0
	case opDocker:
		ok = m.Name != ""
	case opReady, opDone:
		ok = true
	}
	if !ok {
		return fmt.Errorf("%w: op %q, kind %q, name %q, id %d, pid %d", errMessage, m.Op, m.Kind, m.Name, m.ID, m.PID)
	}
	return nil
}

// dockerName reports whether s is a name or an id: [a-zA-Z0-9][a-zA-Z0-9_.-]+, as Docker has them.
func dockerName(s string) bool {
	for i, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !letter && (i == 0 || r != '_' && r != '.' && r != '-') {
			return false
		}
	}
	return len(s) > 1
}
