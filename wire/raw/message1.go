package raw

import (
	"bytes"
	"strconv"
	"strings"

	"golang.org/x/net/http2/hpack"
)

// head1 is the header of a message of HTTP/1.1. Its fields are written as
// HTTP/2 has them: names in lower case, the start line as pseudo fields.
type head1 struct {
	block
	length  int64 // of the body; -1: not announced
	chunked bool
	closes  bool // the sender closes the connection after the message
	expects bool // the sender waits for a word before it sends the body
}

// heads remembers headers by their bytes: they differ by their date and length
// alone, so that most have been seen before.
type heads map[string]*head1

// The bounds of the memory.
const (
	headsMax = 1024 // headers
	headKept = 2048 // bytes of one
)

var headEnd = []byte("\r\n\r\n") // read only

// read cuts a header off data and returns its length, 0 if it is not whole
// yet. parse reads its start line.
func (h heads) read(data []byte, parse func(line string) ([]hpack.HeaderField, bool)) (*head1, int, error) {
	n := bytes.Index(data[:min(len(data), headerMax)], headEnd)
	if n >= 0 {
		n += len(headEnd)
		if known, ok := h[string(data[:n])]; ok {
			return known, n, nil
		}
	}
	if bare := bareEnd(data[:min(len(data), headerMax)]); bare > 0 && (n < 0 || bare < n) {
		n = bare
	}
	if n < 0 {
		if len(data) >= headerMax {
			return nil, 0, breach(0, "header of more than %d bytes", headerMax)
		}
		return nil, 0, nil
	}
	head, err := parseHead(string(data[:n]), parse)
	if err != nil {
		return nil, 0, err
	}
	if n <= headKept {
		if len(h) >= headsMax {
			clear(h) // a date has passed; parts in use come back
		}
		h[string(data[:n])] = head
	}
	return head, n, nil
}

// bareEnd is where a header ends whose last lines end without a carriage return; 0: there
// is no such end. It need not be taken (RFC 9112, 2.2), but every other client does.
func bareEnd(data []byte) int {
	for at := 0; ; {
		i := bytes.IndexByte(data[at:], '\n')
		if i < 0 {
			return 0
		}
		at += i + 1
		switch rest := data[at:]; {
		case bytes.HasPrefix(rest, []byte("\n")):
			return at + 1
		case at < 2 || data[at-2] != '\r': // else it is the end that read looks for
			if bytes.HasPrefix(rest, []byte("\r\n")) {
				return at + 2
			}
		}
	}
}

// cutLine cuts a line off, with those that continue it (RFC 9112, 5.2).
func cutLine(text string) (line, rest string) {
	line, rest, _ = strings.Cut(text, "\n")
	line = strings.TrimSuffix(line, "\r")
	for strings.HasPrefix(rest, " ") || strings.HasPrefix(rest, "\t") {
		var more string
		more, rest, _ = strings.Cut(rest, "\n")
		line += " " + strings.Trim(strings.TrimSuffix(more, "\r"), " \t")
	}
	return line, rest
}

func parseHead(text string, parse func(string) ([]hpack.HeaderField, bool)) (*head1, error) {
	first, rest, _ := strings.Cut(text, "\n")
	fields, ok := parse(strings.TrimSuffix(first, "\r"))
	if !ok {
		return nil, breach(0, "start line %.60q", first)
	}
	h := &head1{block: block{fields: fields}, length: -1}
	for {
		var line string
		if line, rest = cutLine(rest); line == "" {
			break
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok || name == "" || strings.ContainsAny(name, " \t\r\n") || strings.ContainsAny(value, "\r\n\x00") {
			return nil, breach(0, "header line %.60q", line)
		}
		f := hpack.HeaderField{Name: strings.ToLower(name), Value: strings.Trim(value, " \t")}
		if f.Name[0] == ':' {
			return nil, breach(0, "header line %.60q", line)
		}
		if err := h.learn(f); err != nil {
			return nil, err
		}
		h.fields = append(h.fields, f)
	}
	if h.chunked && h.length >= 0 {
		return nil, breach(0, "a body both chunked and of %d bytes", h.length)
	}
	return h, nil
}

// learn takes what a field says about the message's end.
func (h *head1) learn(f hpack.HeaderField) error {
	switch f.Name {
	case "content-length":
		n, err := strconv.ParseUint(f.Value, 10, 62)
		if err != nil || (h.length >= 0 && h.length != int64(n)) {
			return breach(0, "Content-Length %q", f.Value)
		}
		h.length = int64(n)
	case "transfer-encoding":
		if h.chunked || !strings.EqualFold(f.Value, "chunked") {
			return breach(0, "Transfer-Encoding %q", f.Value)
		}
		h.chunked = true
	case "connection":
		for token := range strings.SplitSeq(f.Value, ",") {
			h.closes = h.closes || strings.EqualFold(strings.TrimSpace(token), "close")
		}
	case "expect":
		h.expects = strings.EqualFold(f.Value, "100-continue")
	}
	return nil
}

// statusLine reads a reply's.
func statusLine(line string) ([]hpack.HeaderField, bool) {
	rest, ok := strings.CutPrefix(line, "HTTP/1.1 ")
	if !ok || len(rest) < 3 || (len(rest) > 3 && rest[3] != ' ') {
		return nil, false
	}
	return []hpack.HeaderField{{Name: ":status", Value: rest[:3]}}, true
}

// requestLine reads a request's.
func requestLine(line string) ([]hpack.HeaderField, bool) {
	method, rest, ok := strings.Cut(line, " ")
	target, version, found := strings.Cut(rest, " ")
	if !ok || !found || method == "" || !strings.HasPrefix(target, "/") || version != "HTTP/1.1" {
		return nil, false
	}
	return []hpack.HeaderField{{Name: ":method", Value: method}, {Name: ":path", Value: target}}, true
}

// stage is where in a body one is.
type stage uint8

const (
	bodyOver    stage = iota
	bodyLength        // left bytes to go
	bodyClosed        // until the connection's end
	chunkSize         // before a line with a chunk's size
	chunkData         // left bytes of it to go
	chunkEnd          // before the line end after it
	chunkFields       // in the lines after the last
)

// body1 finds the end of a body of HTTP/1.1.
type body1 struct {
	stage stage
	left  int64
	tail  int // bytes of the lines after the last chunk
}

func (b *body1) begin(h *head1, none stage) {
	switch {
	case h.chunked:
		*b = body1{stage: chunkSize}
	case h.length > 0:
		*b = body1{stage: bodyLength, left: h.length}
	case h.length == 0:
		*b = body1{}
	default:
		*b = body1{stage: none}
	}
}

// chunkLine bounds a line of the chunked encoding, in bytes.
const chunkLine = 256

// next returns the first part of the body in data and how much of data it has
// gone through: 0 if more is needed. It is over when stage is bodyOver.
func (b *body1) next(data []byte) (part []byte, n int, err error) {
	switch b.stage {
	case bodyClosed:
		return data, len(data), nil
	case bodyLength, chunkData:
		n = int(min(b.left, int64(len(data))))
		if b.left -= int64(n); b.left == 0 {
			b.stage++
			if b.stage != chunkEnd {
				b.stage = bodyOver
			}
		}
		return data[:n], n, nil
	case bodyOver:
		return nil, 0, nil
	}
	end := bytes.IndexByte(data[:min(len(data), chunkLine)], '\n')
	if end < 0 {
		if len(data) >= chunkLine {
			return nil, 0, breach(0, "line of more than %d bytes in a chunked body", chunkLine)
		}
		return nil, 0, nil
	}
	line := bytes.TrimSuffix(data[:end], []byte("\r"))
	switch b.stage {
	case chunkEnd:
		if len(line) > 0 {
			return nil, 0, breach(0, "chunk longer than its size")
		}
		b.stage = chunkSize
	case chunkSize:
		err = b.size(line)
	default: // chunkFields; none means anything here
		if b.tail += len(line); b.tail > headerMax {
			return nil, 0, breach(0, "trailers of more than %d bytes", headerMax)
		}
		if len(line) == 0 {
			b.stage = bodyOver
		}
	}
	return nil, end + 1, err
}

// size reads a chunk's first line.
func (b *body1) size(line []byte) error {
	digits, _, _ := bytes.Cut(line, []byte(";"))
	n, err := strconv.ParseUint(string(bytes.TrimRight(digits, " \t")), 16, 32)
	if err != nil {
		return breach(0, "chunk size %.20q", line)
	}
	b.left = int64(n)
	b.stage = chunkData
	if n == 0 {
		b.stage = chunkFields
	}
	return nil
}
