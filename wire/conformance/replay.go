package conformance

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"encoding/gob"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"wirelab"
)

// replaying bounds one [Peer.Replay]; nothing passes by being quicker.
const replaying = 30 * time.Second

// Replay sends what a client that is not ours sent, byte for byte as it was
// recorded, and fails the test unless the replies are those of the recording.
// It has a line for each step; those that begin with # are skipped.
//
//	> BYTES            the client sends them
//	< HEADERS a=b c=d  the reply's header, or trailer, has these fields among others
//	< DATA BYTES       the next bytes of the reply's body
//	< JSON OBJECT      the rest of the body is JSON that has these fields among others
//	< REST             whatever is left of the reply
//	< MESSAGE BYTES    the next message of gRPC begins with them; fields may follow that the client does not know
//	< LINE BYTES       a later line of the reply's body begins with them
//	< NONE BYTES       no line of the rest of the reply's body begins with them, and it ends
//	< END              the reply ends
//	< GOB "TEXT"       net/rpc's next reply, which is no error but this text
//
// BYTES are hex, or text in the quotes of Go. A recording of HTTP/2 begins with
// its preface and lacks the frames that answer the server's: Replay sends those.
// There a reply is that of the stream whose header was sent last.
func (p Peer) Replay(t testing.TB, recording string) {
	t.Helper()
	conn, err := p.connect()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(replaying)); err != nil {
		t.Fatal(err)
	}
	var reply replies
	for i, line := range strings.Split(recording, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		side, step, _ := strings.Cut(line, " ")
		if side == ">" {
			var sent []byte
			if sent, err = literal(step); err != nil {
				t.Fatalf("line %d: %v", i+1, err)
			}
			if reply == nil {
				reply = newReplies(conn, sent)
			}
			reply.sending(sent)
			_, err = conn.Write(sent)
		} else {
			err = expect(reply, step)
		}
		if err != nil {
			t.Fatalf("line %d, %s: %v", i+1, line, err)
		}
	}
}

// connect returns a connection to the peer, which over TLS has agreed on the
// protocol's version of HTTP.
func (p Peer) connect() (net.Conn, error) {
	if !p.Protocol.Secure {
		return net.Dial("tcp", p.Address)
	}
	version := "h2"
	if p.Protocol.Transport == "HTTP/1.1" {
		version = "http/1.1"
	}
	return tls.Dial("tcp", p.Address, &tls.Config{
		RootCAs: p.Roots, NextProtos: []string{version}, MinVersion: tls.VersionTLS13,
	})
}

// literal returns the bytes of a step.
func literal(text string) ([]byte, error) {
	if strings.HasPrefix(text, `"`) {
		unquoted, err := strconv.Unquote(text)
		return []byte(unquoted), err
	}
	return hex.DecodeString(text)
}

// expect holds a reply to a step of it.
func expect(reply replies, step string) error {
	what, rest, _ := strings.Cut(step, " ")
	switch what {
	case "HEADERS":
		fields, err := reply.header()
		if err != nil {
			return err
		}
		for _, field := range strings.Fields(rest) {
			if name, want, _ := strings.Cut(field, "="); fields[name] != want {
				return fmt.Errorf("%s is %q of %v", name, fields[name], fields)
			}
		}
		return nil
	case "DATA":
		want, err := literal(rest)
		if err != nil {
			return err
		}
		got, err := reply.body(len(want))
		if err != nil || !bytes.Equal(got, want) {
			return fmt.Errorf("got %x (%q), %v", got, got, err)
		}
		return nil
	case "JSON":
		got, err := reply.rest()
		if err != nil {
			return err
		}
		return fields(got, rest)
	case "REST":
		_, err := reply.rest()
		return err
	case "MESSAGE":
		return expectMessage(reply, rest)
	case "LINE":
		return expectLine(reply, rest)
	case "NONE":
		if expectLine(reply, rest) == nil {
			return fmt.Errorf("there is one more")
		}
		return reply.end()
	case "END":
		return reply.end()
	case "GOB":
		called, ok := reply.(*gobs)
		if !ok {
			return fmt.Errorf("the recording is of HTTP")
		}
		return called.reply(rest)
	}
	return fmt.Errorf("no such step")
}

// expectMessage holds the next message of gRPC to how it must begin.
func expectMessage(reply replies, begin string) error {
	const head = 5 // whether it is compressed, and its length
	want, err := literal(begin)
	if err != nil {
		return err
	}
	got, err := reply.body(head)
	if err == nil && got[0] != 0 {
		err = fmt.Errorf("the message is compressed")
	}
	if err != nil {
		return err
	}
	size := binary.BigEndian.Uint32(got[1:])
	if size > wirelab.MessageLimit {
		return fmt.Errorf("a message of %d bytes", size)
	}
	got, err = reply.body(int(size))
	if err != nil || !bytes.HasPrefix(got, want) {
		return fmt.Errorf("got %x (%q), %v", got, got, err)
	}
	return nil
}

// expectLine reads lines of the reply's body up to one that begins so.
func expectLine(reply replies, begin string) error {
	want, err := literal(begin)
	if err != nil {
		return err
	}
	var line, last []byte
	for {
		got, err := reply.body(1)
		if err != nil {
			return fmt.Errorf("no such line before the end, the last is %q: %w", last, err)
		}
		if got[0] != '\n' {
			line = append(line, got[0])
			continue
		}
		if bytes.HasPrefix(line, want) {
			return nil
		}
		line, last = nil, line
	}
}

// replies are those of one connection, one after the other.
type replies interface {
	// sending takes note of what the client sends next.
	sending(sent []byte)
	header() (map[string]string, error)
	body(size int) ([]byte, error)
	rest() ([]byte, error)
	end() error
}

// newReplies returns the replies to a client that begins with sent.
func newReplies(conn net.Conn, sent []byte) replies {
	if sent[0] < 'A' || sent[0] > 'Z' {
		return &gobs{from: gob.NewDecoder(conn)}
	}
	if preface := http2.ClientPreface; len(sent) > len(preface) || preface[:len(sent)] != string(sent) {
		return &replies1{from: bufio.NewReader(conn)}
	}
	framer := http2.NewFramer(conn, conn)
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	return &replies2{framer: framer}
}

// replies1 are the replies of HTTP/1.1.
type replies1 struct {
	from *bufio.Reader
	now  *http.Response
}

func (r *replies1) sending([]byte) {}

func (r *replies1) header() (map[string]string, error) {
	var err error
	//nolint:bodyclose // it reads of a connection that is closed
	if r.now, err = http.ReadResponse(r.from, nil); err != nil {
		return nil, err
	}
	if r.now.Close {
		return nil, fmt.Errorf("the server closes the connection")
	}
	fields := map[string]string{":status": strconv.Itoa(r.now.StatusCode)}
	for name := range r.now.Header {
		fields[strings.ToLower(name)] = r.now.Header.Get(name)
	}
	return fields, nil
}

func (r *replies1) body(size int) ([]byte, error) {
	got := make([]byte, size)
	n, err := io.ReadFull(r.now.Body, got)
	return got[:n], err
}

func (r *replies1) end() error {
	rest, err := io.ReadAll(r.now.Body)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("the body has more: %q", rest)
	}
	return err
}

func (r *replies1) rest() ([]byte, error) { return io.ReadAll(r.now.Body) }

// replies2 are the replies of HTTP/2.
type replies2 struct {
	framer *http2.Framer
	stream uint32 // whose header was sent last
	fields []map[string]string
	data   []byte // of the stream, not yet asked for
	ended  bool
}

// sending finds the stream that a client begins, in whole frames.
func (r *replies2) sending(sent []byte) {
	const head, kind = 9, 3
	sent = bytes.TrimPrefix(sent, []byte(http2.ClientPreface))
	for len(sent) >= head {
		if http2.FrameType(sent[kind]) == http2.FrameHeaders {
			r.stream = binary.BigEndian.Uint32(sent[head-4:])
			r.fields, r.data, r.ended = nil, nil, false
		}
		size := int(sent[0])<<16 | int(sent[1])<<8 | int(sent[2])
		sent = sent[min(head+size, len(sent)):]
	}
}

// read reads one frame, and answers it if it wants an answer.
func (r *replies2) read() error {
	frame, err := r.framer.ReadFrame()
	if err != nil {
		return err
	}
	switch f := frame.(type) {
	case *http2.SettingsFrame:
		if !f.IsAck() {
			return r.framer.WriteSettingsAck()
		}
	case *http2.PingFrame:
		if !f.IsAck() {
			return r.framer.WritePing(true, f.Data)
		}
	case *http2.WindowUpdateFrame:
	case *http2.DataFrame:
		if f.StreamID == r.stream {
			r.data, r.ended = append(r.data, f.Data()...), f.StreamEnded()
		}
	case *http2.MetaHeadersFrame:
		if f.StreamID == r.stream {
			fields := map[string]string{}
			for _, field := range f.Fields {
				fields[field.Name] = field.Value
			}
			r.fields, r.ended = append(r.fields, fields), f.StreamEnded()
		}
	default:
		return fmt.Errorf("the server sends %v", frame)
	}
	return nil
}

func (r *replies2) header() (map[string]string, error) {
	for len(r.fields) == 0 {
		if r.ended {
			return nil, io.ErrUnexpectedEOF
		}
		if err := r.read(); err != nil {
			return nil, err
		}
	}
	fields := r.fields[0]
	r.fields = r.fields[1:]
	return fields, nil
}

func (r *replies2) body(size int) ([]byte, error) {
	for len(r.data) < size {
		if r.ended || len(r.fields) > 0 {
			return r.data, io.ErrUnexpectedEOF
		}
		if err := r.read(); err != nil {
			return r.data, err
		}
	}
	got := r.data[:size]
	r.data = r.data[size:]
	return got, nil
}

func (r *replies2) rest() ([]byte, error) {
	for !r.ended {
		if err := r.read(); err != nil {
			return nil, err
		}
	}
	rest := r.data
	r.data = nil
	return rest, nil
}

func (r *replies2) end() error {
	for !r.ended {
		if err := r.read(); err != nil {
			return err
		}
	}
	if len(r.data)+len(r.fields) > 0 {
		return fmt.Errorf("the reply has more: %q, %v", r.data, r.fields)
	}
	return nil
}
