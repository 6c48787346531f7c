package proxy

import "time"

// drain empties the queue, as it may, and ends when it is empty.
func (d *pipe) drain() {
	if d.deliver() {
		d.back().putEnd(reset)
	}
}

// deliver does what drain says, and reports whether a reset is to go back.
func (d *pipe) deliver() (goBack bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	defer func() { d.draining, d.queue = false, nil }()
	for len(d.queue) > 0 {
		gone, held, wait := d.look(d.queue[0].due)
		switch {
		case gone:
			return false
		case held:
			d.mu.Unlock()
			<-d.wake
			d.mu.Lock()
		case wait > 0:
			d.mu.Unlock()
			d.sleep(wait)
			d.mu.Lock()
		default:
			if err := d.first(); err != nil {
				return d.deafen()
			}
		}
	}
	return false
}

// look says what there is to do with the first item, which is due then. The caller has mu.
func (d *pipe) look(due time.Time) (gone, held bool, wait time.Duration) {
	d.p.mu.Lock()
	defer d.p.mu.Unlock()
	if d.p.delay.on() && !due.IsZero() {
		wait = time.Until(due)
	}
	return d.l.gone, d.p.hold[d.dir] || d.to == nil, wait
}

func (d *pipe) sleep(wait time.Duration) {
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
	case <-d.wake:
	}
}

// first delivers the first item, as far as it can, and removes what it delivered. The caller has mu.
func (d *pipe) first() error {
	it := &d.queue[0]
	switch it.end {
	case reset:
		d.p.mu.Lock()
		d.p.finish(d.l, rstBoth)
		d.p.mu.Unlock()
	case fin:
		if err := d.to.CloseWrite(); err != nil {
			return err
		}
		d.p.mu.Lock()
		d.ends--
		if d.l.delivered++; d.l.delivered == len(d.l.pipe) {
			d.p.finish(d.l, rstNone)
		}
		d.p.mu.Unlock()
	default:
		n, err := d.write(it.data)
		d.p.mu.Lock()
		if !d.l.gone { // else all of it has been taken
			d.took(int64(n))
		}
		d.p.mu.Unlock()
		kick(d.room)
		if it.data = it.data[n:]; err != nil || len(it.data) > 0 {
			return err
		}
	}
	d.queue[0] = item{}
	d.queue = d.queue[1:]
	return nil
}
