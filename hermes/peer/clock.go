package peer

import (
	"sync"

	"google.golang.org/protobuf/proto"

	"wirelab/hermes/peer/gen"
)

// Clock is how nodes compare their clocks: in the hello of the dialled node, and with each sign of life. The
// functions are called by the transport's goroutines and must not block; with Now nil there is no comparison.
type Clock struct {
	Now func() int64 // Unix nanoseconds; it continues evenly
	// Compared is shown by how much a node's clock is ahead of this one's, and how far from the truth that may be:
	// half of the time that question and answer took.
	Compared func(peer uint64, ahead, within int64)
}

// watching is what a connection tells and hears with signs of life: clocks, and whether there is room on
// the disks. The zero value tells nothing and asks for nothing.
type watching struct {
	clock         *Clock         // nil: none
	identityCheck *IdentityCheck // nil: no disks
	peer          uint64

	telling  sync.Mutex // guards both below
	told, at int64      // what the other end told last, and when that came
}

// now is this end's clock; 0: it is not told.
func (w *watching) now() int64 {
	if w.clock == nil || w.clock.Now == nil {
		return 0
	}
	return w.clock.Now()
}

// sign is the body of a sign of life.
func (w *watching) sign() []byte {
	a := new(gen.Alive)
	if now := w.now(); now != 0 {
		w.telling.Lock()
		a.Clock, a.Heard = now, w.told
		if w.told != 0 {
			a.Held = now - w.at
		}
		w.telling.Unlock()
	}
	if w.identityCheck != nil {
		a.Room = w.identityCheck.room()
	}
	data, err := proto.Marshal(a)
	if err != nil {
		return nil // it has only numbers
	}
	return data
}

// alive takes a sign of life. One of a former version has no body.
func (w *watching) alive(body []byte) error {
	if len(body) == 0 {
		return nil
	}
	a := new(gen.Alive)
	if err := proto.Unmarshal(body, a); err != nil {
		return errBody
	}
	if w.identityCheck != nil {
		w.identityCheck.hear(w.peer, a.GetRoom())
	}
	now := w.now()
	if now == 0 || a.GetClock() == 0 {
		return nil
	}
	w.telling.Lock()
	w.told, w.at = a.GetClock(), now
	w.telling.Unlock()
	w.compare(a.GetClock(), a.GetHeard(), a.GetHeld())
	return nil
}

// compare tells how the other end's clock stands, which it told in answer to this end's of asked, which it had held
// for a while.
func (w *watching) compare(clock, asked, held int64) {
	now := w.now()
	if now == 0 || clock == 0 || asked == 0 || w.clock.Compared == nil {
		return
	}
	if way := now - asked - held; way >= 0 && held >= 0 {
		w.clock.Compared(w.peer, clock+way/2-now, way-way/2)
	}
}
