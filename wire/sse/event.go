package sse

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"time"
	"unicode/utf8"

	"wirelab/wire/httprpc"
)

// Event is one event of a stream.
type Event struct {
	Name string // "" for the default, which EventSource calls "message"
	Data []byte // lines joined by line feeds; valid until the next is read
	ID   string // the last one the stream has named
}

// AppendEvent appends an event's text to buffer. CR and CRLF in data become
// LF, as every reader must read them. name and id must hold no line break, and
// id no NUL, which would make it none; "" leaves either out.
func AppendEvent(buffer []byte, name, id string, data []byte) []byte {
	return appendEvent(buffer, name, id, "data: ", data)
}

// appendLast is [AppendEvent] for the event that ends a stream. There is no space before its data. To a reader of
// events that is the same, but readers that only look for lines which begin with "data: ", as the published ledger's
// client does, would count the end as one more item.
func appendLast(buffer []byte, name, id string, data []byte) []byte {
	return appendEvent(buffer, name, id, "data:", data)
}

func appendEvent(buffer []byte, name, id, field string, data []byte) []byte {
	if name != "" {
		buffer = append(append(append(buffer, "event: "...), name...), '\n')
	}
	if id != "" {
		buffer = append(append(append(buffer, "id: "...), id...), '\n')
	}
	for {
		buffer = append(buffer, field...)
		i := bytes.IndexAny(data, "\r\n")
		if i < 0 {
			break
		}
		buffer = append(buffer, data[:i]...)
		buffer = append(buffer, '\n')
		if data[i] == '\r' && i+1 < len(data) && data[i+1] == '\n' {
			i++
		}
		data = data[i+1:]
	}
	buffer = append(buffer, data...)
	return append(buffer, "\n\n"...)
}

// Errors of [Reader.Next].
var (
	ErrTooLong = errors.New("an event is longer than the limit")
	ErrNotUTF8 = errors.New("the stream is not valid UTF-8")
)

// Reader reads the events of a stream.
type Reader struct {
	from  *bufio.Reader
	begun bool // whether the byte order mark, if any, is behind
	// afterCR tells that the last line ended with CR, so that an LF that
	// follows belongs to it. Reading on to see would hold an event back.
	afterCR bool
	line    []byte // the current line, where it does not lie whole in from's buffer
	data    []byte
	id      string
	retry   time.Duration
}

// NewReader returns a reader of the stream from.
func NewReader(from io.Reader) *Reader { return &Reader{from: bufio.NewReader(from)} }

// Retry is how long the stream asked to wait before connecting again, or 0.
func (r *Reader) Retry() time.Duration { return r.retry }

// Next returns the next event. At the stream's end it returns io.EOF; an event
// that its blank line does not end is dropped, as the standard says.
func (r *Reader) Next() (Event, error) {
	r.data = r.data[:0]
	var name string
	hasData := false
	for {
		line, err := r.next()
		if err != nil {
			return Event{}, err
		}
		if len(line) == 0 {
			if !hasData {
				name = ""
				continue
			}
			return Event{Name: name, Data: r.data[:len(r.data)-1], ID: r.id}, nil
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "data":
			if len(r.data)+len(value)+1 > httprpc.MessageLimit {
				return Event{}, ErrTooLong
			}
			r.data = append(append(r.data, value...), '\n')
			hasData = true
		case "event":
			name = string(value)
		case "id":
			if bytes.IndexByte(value, 0) < 0 {
				r.id = string(value)
			}
		case "retry":
			r.setRetry(string(value))
		}
	}
}

// setRetry takes milliseconds in decimal digits and passes over anything else.
func (r *Reader) setRetry(value string) {
	if millis, err := strconv.ParseUint(value, 10, 32); err == nil {
		r.retry = time.Duration(millis) * time.Millisecond
	}
}

// next returns the next line without its end: LF, CR or CRLF. A line that the
// stream's end cuts short counts for nothing.
func (r *Reader) next() ([]byte, error) {
	r.line = r.line[:0]
	for {
		if r.from.Buffered() == 0 {
			if _, err := r.from.Peek(1); err != nil {
				return nil, err
			}
		}
		part, _ := r.from.Peek(r.from.Buffered())
		if r.afterCR {
			r.afterCR = false
			if part[0] == '\n' {
				r.drop(1)
				continue
			}
		}
		end := bytes.IndexByte(part, '\n')
		if cr := bytes.IndexByte(part[:max(end, 0)], '\r'); end >= 0 && cr >= 0 {
			end = cr
		} else if end < 0 {
			end = bytes.IndexByte(part, '\r')
		}
		if end < 0 {
			if len(r.line)+len(part) > httprpc.MessageLimit {
				return nil, ErrTooLong
			}
			r.line = append(r.line, part...)
			r.drop(len(part))
			continue
		}
		r.afterCR = part[end] == '\r'
		line := part[:end]
		if len(r.line) > 0 {
			if len(r.line)+len(line) > httprpc.MessageLimit {
				return nil, ErrTooLong
			}
			r.line = append(r.line, line...)
			line = r.line
		}
		r.drop(end + 1) // line stays unchanged until the next read
		return r.checked(line)
	}
}

// checked removes the byte order mark a stream may begin with, and refuses whatever is not UTF-8 rather than
// altering it.
func (r *Reader) checked(line []byte) ([]byte, error) {
	if !r.begun {
		r.begun = true
		line = bytes.TrimPrefix(line, []byte("\uFEFF"))
	}
	if !utf8.Valid(line) {
		return nil, ErrNotUTF8
	}
	return line, nil
}

// drop discards n bytes that are buffered, which cannot fail.
func (r *Reader) drop(n int) { _, _ = r.from.Discard(n) }
