package wirelab

// Stamp is carried by each event of a stream, so that its delivery can be timed and
// its loss be detected. Both times are by the server's wall clock: they are useful to
// a reader on the same host, or on a host whose clock offset is known.
type Stamp struct {
	Sequence uint64 // position in the stream, from 1 without gaps
	Due      int64  // when the event was due, ns since 1970; equal to Sent if the stream has no rate
	Sent     int64  // when the event was passed to the wire, ns since 1970
}

// Stamped is an item of a stream that carries a [Stamp].
type Stamped interface{ Stamped() Stamp }

// Stamped implements [Stamped] for every message that embeds a stamp.
func (s Stamp) Stamped() Stamp { return s }
