package raw

import (
	"errors"
	"io"

	"golang.org/x/sys/unix"

	"wirelab"
)

// How often a call is sent again: of a server that does not want it, and of one that
// refuses it while it carries others, which must end first.
const (
	triesMost   = 8
	refusalMost = 100
)

// endedByPeer reports whether the server ended a connection, as it may at any time. A request
// that it then has not begun to answer may be sent again if that does no harm (RFC 9112,
// 9.3.1): requests of a series are made again and again anyhow. But on a new connection it
// would be met by the same.
func endedByPeer(cause error) bool {
	return errors.Is(cause, io.ErrUnexpectedEOF) || errors.Is(cause, unix.ECONNRESET) || errors.Is(cause, unix.EPIPE)
}

// again has a call sent again that the server has not processed, for that reason. The time
// that it takes counts, as it would with any client.
func (l *lines) again(c *call, reason error, refused bool) {
	n := c.on
	c.refused = refused && n.flying > 1
	most := uint8(triesMost)
	if c.refused {
		most = refusalMost
	}
	if c.tries >= most {
		l.finish(c, wirelab.Caused(wirelab.CauseOf(reason), wirelab.CodeOf(reason), "%s; it was sent %d times",
			wirelab.Public(reason).Message, c.tries+1))
		return
	}
	n.flying--
	c.tries++
	c.on, c.state = nil, resting
	l.rest = append(l.rest, c)
}

// resume sends what rests: at once, but for what was refused together with others.
func (l *lines) resume() {
	if len(l.rest) == 0 {
		return
	}
	rest := l.rest
	l.rest = nil
	for _, c := range rest {
		if c.state != resting {
			continue // it was given up
		}
		if n := l.current[c.slot%len(l.current)]; c.refused && n != nil && n.flying > 0 {
			if n.room == 0 {
				l.rest = append(l.rest, c)
				continue
			}
			n.room--
		}
		l.launch(c)
	}
}
