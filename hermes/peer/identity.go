package peer

import (
	"wirelab/hermes/peer/gen"
	"wirelab/wire/status"
)

// IdentityCheck is what nodes know of each other's directories. An id alone does not do: a node that is started
// under its old id with an empty directory has forgotten what it voted for and acknowledged, and those who
// counted on that must not hear of it. Each end tells its directory's incarnation in its hello, and each asks
// Meet what to think of the other's. The functions are called by the transport's goroutines, before the
// connection stands; those that are nil are not.
type IdentityCheck struct {
	Incarnation uint64      // of this node's directory, drawn when it was begun; 0: not told
	Begun       func() bool // this node takes part already; nil: it does
	// Lineage is of this node's cluster; nil, or 0: not told.
	Lineage func() uint64
	// Related tells why a node of that lineage is none of this cluster's, before Meet is asked; nil: it may be. id
	// is 0 for one that only asks something, and told a lineage; a node that told none has 0.
	Related func(id, lineage uint64) error
	// Full tells whether this node's disk is so full that it should not lead; nil: others are not told.
	Full func() bool
	// Heard learns what a node says of the disk it has with each sign of life, by any goroutine; it must not
	// block.
	Heard func(id uint64, full bool)
	// Meet tells what to think of a node: nil, and then it is noted on disk, or why it is refused.
	Meet func(id, incarnation uint64, begun bool) error
	// Standing is what this node has on its disk; ok is false while it does not take part.
	Standing func() (s Standing, ok bool)
	// Recall tells why a node that was not refused by Meet, and has that on its disk, is refused: it had more. It is
	// asked of those who dial only. Raft's messages of a node come on a connection that it
	// dialled, so nothing that it is known by can be newer than what it tells then.
	Recall func(id uint64, s Standing) error
	// Knows is up to which level this node knows what commands mean, and Known gets the same answer of each node
	// that is met. A node of a version that tells none knows 0.
	Knows uint32
	Known func(id uint64, knows uint32)
	// Welcomed is notified of a node that has noted this one's incarnation.
	Welcomed func(id uint64)
	// Refused is notified of a node that says Conflict: this one is not who it takes itself for, or, forgotten, it
	// has less on its disk than that node saw it have.
	Refused func(id uint64, why error, forgotten bool)
}

// Standing is what a node has on its disk.
type Standing struct {
	Term     uint64 // of its votes and acknowledgements
	Last     uint64 // its last entry
	LastTerm uint64 // of which term that is
}

// introduce fills in what this node says about itself.
func (a *IdentityCheck) introduce(h *gen.Hello) {
	if h.GetFrom() != 0 {
		h.Knows, h.Birth, h.Begun = a.Knows, a.Incarnation, a.Begun == nil || a.Begun()
	}
	if a.Lineage != nil {
		h.Lineage = a.Lineage()
	}
}

// stand fills in what this node has on its disk.
func (a *IdentityCheck) stand(h *gen.Hello) {
	if a.Standing == nil {
		return
	}
	if s, ok := a.Standing(); ok {
		h.Standing = &gen.Standing{Term: s.Term, Last: s.Last, LastTerm: s.LastTerm}
	}
}

// recall judges what the other end, which dialled, has on its disk.
func (a *IdentityCheck) recall(h *gen.Hello) error {
	s := h.GetStanding()
	if a.Recall == nil || s == nil {
		return nil
	}
	return a.Recall(h.GetFrom(), Standing{Term: s.GetTerm(), Last: s.GetLast(), LastTerm: s.GetLastTerm()})
}

// room is what a sign of life says of this node's disk.
func (a *IdentityCheck) room() gen.Room {
	switch {
	case a.Full == nil:
		return gen.Room_ROOM_UNSPECIFIED
	case a.Full():
		return gen.Room_ROOM_FULL
	}
	return gen.Room_ROOM_ENOUGH
}

// hear takes what a node's sign of life says of its disk.
func (a *IdentityCheck) hear(id uint64, room gen.Room) {
	if a.Heard != nil && id != 0 && room != gen.Room_ROOM_UNSPECIFIED {
		a.Heard(id, room == gen.Room_ROOM_FULL)
	}
}

// meet judges the other end's hello.
func (a *IdentityCheck) meet(h *gen.Hello) error {
	if a.Related != nil && (h.GetFrom() != 0 || h.GetLineage() != 0) {
		if err := a.Related(h.GetFrom(), h.GetLineage()); err != nil {
			return err
		}
	}
	if a.Meet == nil || h.GetFrom() == 0 {
		return nil
	}
	return a.Meet(h.GetFrom(), h.GetBirth(), h.GetBegun())
}

// know tells what a node knows that was met.
func (a *IdentityCheck) know(id uint64, h *gen.Hello) {
	if a.Known != nil {
		a.Known(id, h.GetKnows())
	}
}

// greeted takes the answer of a node that was dialled. One that tells no incarnation is of a former
// version, and has noted nothing.
func (a *IdentityCheck) greeted(id uint64, h *gen.Hello) error {
	if err := readError(h.GetError()); err != nil {
		if a.Refused != nil && status.CodeOf(err) == status.Conflict {
			a.Refused(id, err, h.GetForgotten())
		}
		return err
	}
	if h.GetFrom() != id {
		return status.Errorf(status.NotFound, "node %d is there, and not node %d: check the addresses of peers",
			h.GetFrom(), id)
	}
	if err := a.meet(h); err != nil {
		if a.Refused != nil && status.CodeOf(err) == status.Conflict && h.GetLineage() != 0 && a.Lineage != nil &&
			h.GetLineage() != a.Lineage() {
			a.Refused(id, err, false)
		}
		return err
	}
	a.know(id, h)
	if a.Welcomed != nil && h.GetBirth() != 0 {
		a.Welcomed(id)
	}
	return nil
}
