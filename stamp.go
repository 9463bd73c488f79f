package wirelab

// Stamp is what an event of a stream says of itself, so that its way can be
// timed and its loss be seen. Both times are by the server's wall clock: they
// mean something to a reader on the same host, or on one whose clock is known.
type Stamp struct {
	Sequence uint64 // its place in the stream, from 1 without gaps
	Due      int64  // when it was to be sent, ns since 1970; Sent where the stream has no rate
	Sent     int64  // when it was handed to the wire, ns since 1970
}

// Stamped is an item of a stream that carries a [Stamp].
type Stamped interface{ Stamped() Stamp }

// Stamped implements [Stamped] for every message that embeds a stamp.
func (s Stamp) Stamped() Stamp { return s }
