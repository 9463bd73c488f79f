package httprpc

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// frame is a line of a stream: an item, the error that ended it, or its end.
type frame[T any] struct {
	item T
	err  error
	end  bool
}

// The lines as they are written, and as they are read.
type (
	resultLine[D any] struct {
		Result D `json:"result"`
	}
	errorLine struct {
		Error errorBody `json:"error"`
	}
	endLine struct {
		End bool `json:"end"`
	}
	anyLine[D any] struct {
		Result *D         `json:"result"`
		Error  *errorBody `json:"error"`
		End    bool       `json:"end"`
	}
)

// lineWriter writes a stream's lines, each with one Write.
type lineWriter[T any] struct {
	to      io.Writer
	codec   *Codec[T]
	buffer  bytes.Buffer
	encoder *json.Encoder // into buffer
}

func newLineWriter[T any](to io.Writer, codec *Codec[T]) *lineWriter[T] {
	w := &lineWriter[T]{to: to, codec: codec}
	w.encoder = json.NewEncoder(&w.buffer)
	return w
}

// item writes an item's line. Its error is that of the write, or of an item
// that JSON cannot hold.
func (w *lineWriter[T]) item(v T) error {
	w.buffer.Reset()
	if err := w.codec.encodeLine(w.encoder, v); err != nil {
		return err
	}
	return w.flush()
}

// end writes the last line: err's, or the end if it is nil.
func (w *lineWriter[T]) end(err error) error {
	w.buffer.Reset()
	var last any = endLine{End: true}
	if err != nil {
		last = errorLine{Error: bodyOf(err)}
	}
	if err := w.encoder.Encode(last); err != nil {
		return err
	}
	return w.flush()
}

func (w *lineWriter[T]) flush() error {
	_, err := w.to.Write(w.buffer.Bytes())
	return err
}

// errNoEnd is a stream whose transport ended it well but whose last line is missing.
var errNoEnd = errors.New("the stream was cut short: its end line is missing")

// lineReader reads a stream's lines.
type lineReader[T any] struct {
	from  *bufio.Reader
	codec *Codec[T]
	long  []byte // holds a line that does not fit from's buffer; len <= MessageLimit
}

func newLineReader[T any](from io.Reader, codec *Codec[T]) *lineReader[T] {
	return &lineReader[T]{from: bufio.NewReader(from), codec: codec}
}

// malformed is a line that was read but says nothing, as opposed to a failed
// read. Its text is for the peer.
type malformed string

func (m malformed) Error() string { return string(m) }

// The ways a line can be malformed. What a library says of it stays here: it
// speaks of Go's types.
const (
	errUnreadable  malformed = "a line of the stream cannot be read"
	errLineTooLong malformed = "a line of the stream is longer than a message may be"
	errAfterLast   malformed = "something follows the last line of the stream"
)

// next returns the next line's frame. Errors are those of the transport,
// errNoEnd, or a malformed.
func (r *lineReader[T]) next() (frame[T], error) {
	for {
		line, err := r.line()
		if err != nil && !errors.Is(err, io.EOF) {
			return frame[T]{}, err
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			f, err := r.codec.decodeLine(line)
			if err != nil {
				return frame[T]{}, errUnreadable
			}
			return f, nil
		}
		if err != nil {
			return frame[T]{}, errNoEnd
		}
	}
}

// line returns the bytes to the next line feed, valid until the next call. A
// last line may lack it, and comes with io.EOF.
func (r *lineReader[T]) line() ([]byte, error) {
	r.long = r.long[:0]
	for {
		part, err := r.from.ReadSlice('\n')
		if err == nil && len(r.long) == 0 {
			return part, nil // the usual case: no copy
		}
		if len(r.long)+len(part) > MessageLimit {
			return nil, errLineTooLong
		}
		r.long = append(r.long, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return r.long, err
		}
	}
}

// rest reads what follows the last line, which must be nothing.
func (r *lineReader[T]) rest() error {
	for {
		line, err := r.line()
		if len(bytes.TrimSpace(line)) > 0 {
			return errAfterLast
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
