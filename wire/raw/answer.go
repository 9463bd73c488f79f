package raw

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"golang.org/x/net/http2/hpack"

	"wirelab"
)

// kind is what a check can see of a header or of trailers. There is one of
// each in a driver, so that two headers are compared by their kinds' addresses.
type kind struct{ text string }

// kindsMax bounds the kinds of a driver. A header beyond it has its own, and so its replies are checked in
// full.
const kindsMax = 1024

// replyHead is what a reply's header says.
type replyHead struct {
	status int
	length int64 // of the body; -1: not announced
	kind   *kind
}

// decisive reports whether a field is one that our stubs read.
func decisive(name string) bool {
	return name == ":status" || name == "content-type" || name == "content-encoding" ||
		strings.HasPrefix(name, "grpc-") || strings.HasPrefix(name, "connect-") || strings.HasPrefix(name, "trailer")
}

// judge decides replies for all calls of a driver.
type judge struct {
	transport *Transport
	major     int // of the HTTP version
	kinds     map[string]*kind
	scratch   []byte
	kept      int // bytes of replies that are kept to compare others with
}

// acceptedMax bounds those. A reply beyond it is checked in full: many distinct requests with large replies
// would else have more memory than there is.
const acceptedMax = 64 << 20

// room reports whether so many bytes more may be kept, and counts them if so.
func (j *judge) room(more int) bool {
	if more > 0 && j.kept+more > acceptedMax {
		return false
	}
	j.kept += more
	return true
}

func newJudge(t *Transport, major int) *judge {
	return &judge{transport: t, major: major, kinds: map[string]*kind{}}
}

// kindOf returns the one kind of these fields.
func (j *judge) kindOf(fields []hpack.HeaderField) *kind {
	text := j.scratch[:0]
	for i := range fields {
		if f := &fields[i]; decisive(f.Name) {
			text = append(append(append(append(text, f.Name...), '\n'), f.Value...), '\n')
		}
	}
	j.scratch = text
	k, ok := j.kinds[string(text)]
	if !ok {
		k = &kind{text: string(text)}
		if len(j.kinds) < kindsMax {
			j.kinds[k.text] = k
		}
	}
	return k
}

// readHead works out what a block says as a reply's header or trailers.
func (j *judge) readHead(b *block) (*replyHead, error) {
	if b.reply != nil {
		return b.reply, nil
	}
	h := &replyHead{length: -1, kind: j.kindOf(b.fields)}
	for i := range b.fields {
		switch f := &b.fields[i]; f.Name {
		case ":status":
			n, err := strconv.ParseUint(f.Value, 10, 16)
			if err != nil || n < 100 || n > 999 {
				return nil, breach(reasonProtocol, "status %q", f.Value)
			}
			h.status = int(n)
		case "content-length":
			n, err := strconv.ParseUint(f.Value, 10, 62)
			if err != nil || (h.length >= 0 && h.length != int64(n)) {
				return nil, breach(reasonProtocol, "content-length %q", f.Value)
			}
			h.length = int64(n)
		}
	}
	b.reply = h
	return h, nil
}

// answer is the reply to one call as it comes in. Its body is compared while
// it arrives and kept only from where it differs.
type answer struct {
	head, tail *block
	good       *accepted
	matched    int // bytes, equal to those of good
	differs    bool
	body       []byte // all of it, if it differs
}

func (a *answer) reset(x *exchange) {
	*a = answer{good: x.good, differs: x.good == nil, body: a.body[:0]}
	if cap(a.body) > 1<<20 {
		a.body = nil // one large reply is no reason to keep the room
	}
}

func (a *answer) size() int {
	if a.differs {
		return len(a.body)
	}
	return a.matched
}

// add takes a part of the body; false means that it is too long.
func (a *answer) add(data []byte) bool {
	if !a.differs {
		want := a.good.body[a.matched:]
		if len(data) <= len(want) && bytes.Equal(data, want[:len(data)]) {
			a.matched += len(data)
			return true
		}
		a.differs = true
		a.body = append(a.body[:0], a.good.body[:a.matched]...)
	}
	if len(a.body)+len(data) > bodyMax {
		return false
	}
	a.body = append(a.body, data...)
	return true
}

// whole returns a copy of the body.
func (a *answer) whole() []byte {
	if a.differs {
		return bytes.Clone(a.body)
	}
	return bytes.Clone(a.good.body[:a.matched])
}

// same reports whether the reply is one that has passed, to the last byte.
func (a *answer) same() bool {
	if a.differs || a.matched != len(a.good.body) || a.head.reply.kind != a.good.head {
		return false
	}
	if a.tail == nil {
		return a.good.tail == nil
	}
	return a.tail.reply != nil && a.tail.reply.kind == a.good.tail
}

// verify decides a whole reply: nil if it is right.
func (j *judge) verify(x *exchange, a *answer) error {
	if a.same() {
		return nil
	}
	body := a.whole() // becomes the accepted one
	//nolint:bodyclose // it is memory, and the stub closes it
	if err := j.transport.replay(context.Background(), j.response(a, body), x.check); err != nil {
		return err
	}
	more := len(body)
	if x.good != nil {
		more -= len(x.good.body)
	}
	if !j.room(more) {
		return nil // the one that is kept stays
	}
	good := &accepted{head: a.head.reply.kind, body: body}
	if a.tail != nil {
		tail, err := j.readHead(a.tail)
		if err != nil {
			return broken(err)
		}
		good.tail = tail.kind
	}
	x.good = good
	return nil
}

// response is a reply as a stub gets it from net/http.
func (j *judge) response(a *answer, body []byte) *http.Response {
	r := &http.Response{
		Status: strconv.Itoa(a.head.reply.status), StatusCode: a.head.reply.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: headerOf(a.head), Body: io.NopCloser(bytes.NewReader(body)), ContentLength: a.head.reply.length,
	}
	if j.major == 2 {
		r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/2.0", 2, 0
	}
	if a.tail != nil {
		r.Trailer = headerOf(a.tail)
	}
	return r
}

func headerOf(b *block) http.Header {
	h := http.Header{}
	for _, f := range b.fields {
		if !strings.HasPrefix(f.Name, ":") {
			h.Add(f.Name, f.Value)
		}
	}
	return h
}

// broken is what a call receives whose connection failed with err.
func broken(err error) error {
	if breached := new(wireError); errors.As(err, &breached) {
		return wirelab.Caused(wirelab.BadProtocol, wirelab.Unavailable, "connection lost: %v", err)
	}
	return wirelab.Lost(wirelab.Unavailable, err, "connection lost: %v", err)
}
