package raw

// call is the state of one slot.
type call struct {
	slot     int
	next     int // of the series
	exchange *exchange
	answer   answer
	state    state
	cause    error // why it ends, if it is ending

	on      *line // carries it, while it flies
	alone   bool  // it began while nothing else was under way there
	tries   uint8 // how often it was sent again
	refused bool  // by a server that carried others: it rests until one of them ends

	written int64 // when the kernel had all of it, by the clock of stamps; 0: unknown
	replied int64 // written, of the last call that ended
	outside int64 // of the last call that ended: see wirelab.Lines

	// HTTP/2
	stream uint32
	unsent []byte // of the body, held back by the peer's windows
	window int64  // of the stream, for unsent bytes
	queued bool   // waits for its stream
}

// state is what a slot is doing.
type state uint8

const (
	idle    state = iota
	flying        // it has been begun
	resting       // it is to be sent again
	ending        // it is over, and the next turn says so
)

// protocol is one end of a connection without its socket.
type protocol interface {
	// receive takes the whole messages of data and tells how much that was. An error is the connection's end.
	receive(data []byte) (int, error)
	// output is whatever is to be sent; who sends it empties it.
	output() *[]byte
}

// client is a protocol that makes calls. It tells the end of each through the
// function that it was made with, which may begin another.
type client interface {
	protocol
	begin(c *call)
	// cancel forgets a call. false: the connection is of no more use.
	cancel(c *call) bool
	// untouched reports whether a call may be sent again over another connection if this
	// one has broken: nothing of it has been sent, or nothing of a reply has come.
	untouched(c *call) (never, unanswered bool)
	// closed tells that the peer has sent its last byte; it may end a call by that.
	closed()
	// spent reports whether no more calls can begin, though those under way go on.
	spent() bool
	// last reports whether what was received last ended with the end of a call.
	last() bool
}
