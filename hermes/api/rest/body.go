package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"wirelab/hermes"
	"wirelab/wire/httprpc"
	"wirelab/wire/jsontext"
	"wirelab/wire/status"
)

// The types of bodies.
const (
	mediaJSON  = httprpc.MediaJSON
	mediaProto = httprpc.MediaProto
	mediaBytes = "application/octet-stream"
)

// The bounds of bodies, in bytes. JSON takes up to twice what it carries.
const (
	jsonLimit  = 2 * hermes.RunLimit
	adminLimit = 64 << 10
	// valueLimit bounds the values in a JSON body: an empty object is three bytes
	// of text and over a hundred in memory.
	valueLimit = 100_000
)

// hold keeps a request's body counted in the API's intake, until the request is answered and no publish of its
// can still read it.
type hold struct {
	release func()
	users   atomic.Int32
}

func (h *hold) keep() { h.users.Add(1) }

func (h *hold) drop() {
	if h.users.Add(-1) == 0 {
		h.release()
	}
}

// body reads the request's body, of at most limit bytes, to its end: net/http
// could not use the connection again, or notice its end, if a part were left.
func (c *call) body(limit int64) ([]byte, error) {
	size := c.request.ContentLength
	if size > limit {
		return nil, errTooLarge(limit)
	}
	text := make([]byte, 0, min(max(size, 0), firstRead)+bytes.MinRead)
	buffer := bytes.NewBuffer(text)
	_, err := buffer.ReadFrom(io.LimitReader(c.request.Body, limit+1))
	var full *status.Error
	switch {
	case errors.As(err, &full):
		return nil, full
	case err != nil && c.ctx.Err() != nil:
		return nil, status.Public(c.ctx.Err())
	case err != nil:
		return nil, refuse(http.StatusBadRequest, status.Canceled, "the request's body could not be read")
	case int64(buffer.Len()) > limit:
		return nil, errTooLarge(limit)
	}
	c.unhurry()
	return buffer.Bytes(), nil
}

// firstRead is how many bytes are made room for on a caller's word; for more it
// has to send them.
const firstRead = 4 << 10

func errTooLarge(limit int64) error {
	return refuse(http.StatusRequestEntityTooLarge, status.InvalidArgument,
		"body of more than %d bytes, which are all that are allowed here", limit)
}

// unhurry lifts the deadline of the request's body, which has been read, from a
// call that may last: net/http watches an HTTP/1.1 connection under it and would
// take its passing for the caller's leaving.
func (c *call) unhurry() {
	if deadline, ok := c.ctx.Deadline(); ok && time.Until(deadline) <= CallTime {
		return // the server gives a body a minute
	}
	_ = http.NewResponseController(c.writer).SetReadDeadline(time.Time{}) // versions that cannot need not
}

// media is the request's content type; "" is one that is absent.
func (c *call) media() string {
	text := c.request.Header.Get("Content-Type")
	if text == "" || text == mediaJSON {
		return text
	}
	name, _, err := mime.ParseMediaType(text)
	if err != nil {
		return text
	}
	return name
}

// errMedia refuses a content type.
func (c *call) errMedia(want string) error {
	return refuse(http.StatusUnsupportedMediaType, status.InvalidArgument,
		"content type %.100q is not taken here: send %s", c.request.Header.Get("Content-Type"), want)
}

// decode reads a body of JSON into value. An empty one is {} where it may be left out.
func (c *call) decode(value any, limit int64, optional bool) error {
	if media := c.media(); media != mediaJSON && (media != "" || !optional) {
		return c.errMedia(mediaJSON)
	}
	text, err := c.body(limit)
	if err != nil || optional && len(text) == 0 {
		return err
	}
	return decodeJSON(text, value)
}

// decodeJSON reads a text into value, and refuses what encoding/json would alter
// or pass over: bytes that are no UTF-8, halves of characters, unknown fields,
// anything behind the value (hb-D28).
func decodeJSON(text []byte, value any) error {
	if !utf8.Valid(text) {
		return status.Errorf(status.InvalidArgument,
			"the body is not UTF-8: bytes that are no text go into payload_base64, or into a body of %s", mediaBytes)
	}
	if tooManyValues(text) {
		return status.Errorf(status.InvalidArgument, "body of more than %d values, which are all that are allowed",
			valueLimit)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(value); err != nil {
		return unreadable(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return status.Errorf(status.InvalidArgument, "the body has something behind its JSON")
	}
	if jsontext.Half(text) {
		return status.Errorf(status.InvalidArgument,
			"the body has one half of a UTF-16 surrogate pair, which is no character")
	}
	return nil
}

// unreadable says what is wrong with a body where encoding/json tells it in a
// type, and else only that something is: its texts name our own types.
func unreadable(err error) error {
	var coded *status.Error
	var kind *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &coded):
		return coded
	case errors.As(err, &kind):
		return status.Errorf(status.InvalidArgument, "the body has a %s where it may not be: %.100s", kind.Value,
			kind.Field)
	case errors.As(err, &syntax):
		return status.Errorf(status.InvalidArgument, "the body is not JSON: byte %d", syntax.Offset)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return status.Errorf(status.InvalidArgument, "the body is empty, or its JSON ends early")
	}
	return status.Errorf(status.InvalidArgument, "the body has a field that is not known here, or bytes that are not "+
		"base64: see /v1/openapi.json")
}

// tooManyValues reports whether a JSON text may hold more than valueLimit values. Whatever is not JSON is
// judged as if it were.
func tooManyValues(text []byte) bool {
	if len(text) <= valueLimit {
		return false // a value takes a byte
	}
	values := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case ',', '[', '{': // each is followed by a value, or by nothing
			if values++; values > valueLimit {
				return true
			}
		case '"':
			for i++; i < len(text); i++ {
				n := bytes.IndexAny(text[i:], `"\`)
				if n < 0 {
					return false
				}
				if i += n; text[i] == '"' {
					break
				}
				i++ // what a backslash hides
			}
		}
	}
	return false
}
