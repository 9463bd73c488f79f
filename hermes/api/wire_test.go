package api_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/protobuf/proto"

	"wirelab/hermes"
	"wirelab/hermes/api/graphql"
	"wirelab/hermes/api/grpc"
	"wirelab/hermes/api/register"
	"wirelab/hermes/api/rest"
	"wirelab/hermes/broker"
	"wirelab/hermes/broker/brokertest"
	"wirelab/hermes/gen/origin"
	"wirelab/hermes/record"
	"wirelab/wire/endpoint"
)

// What the origin's own programs send, and curl by the commands that it documents, was recorded byte for byte:
// its command line and its benchmark of commit c29ee23, built unmodified. It is sent here as it was, frame by
// frame, so that whether they work does not rest on a client of ours. Only the units of four deadlines of the
// benchmark, which were 20 to 168 ms before its end, are longer: on a busy machine they passed before the
// reply. testdata/origin has a file for each connection:
//
//	# says something
//	> bytes that the client sends, in hex, or as a quoted text
//	< 1 0000…       the next DATA of that HTTP/2 stream, to the byte
//	< 1 message ID TOPIC PAYLOAD   a message of the origin's Subscribe; its time may be any
//	< 1 ok          the stream's end, with grpc-status 0
//	< 200 TYPE BODY the HTTP/1.1 reply; omitted parts may be anything
//	< line TEXT     a line of its body that begins so
func TestTheOriginsBytes(t *testing.T) {
	t.Parallel()
	w := newWire(t)
	files, err := filepath.Glob("testdata/origin/*.txt")
	if err != nil || len(files) < 13 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	for _, file := range files {
		w.play(file)
	}
	for topic, want := range map[string][]string{
		"orders": {"Hello Hermes - Seq 1", "Hello Hermes - Seq 2", "paid"},
		"bench-vm": slices.Concat(
			slices.Repeat([]string{"gRPC-0"}, 4), slices.Repeat([]string{"Stream-0"}, 5), []string{"REST-0", "GQL-0"}),
		"logs": {"System start", "one", "two"},
	} {
		if got := w.stored(topic); !slices.Equal(got, want) {
			t.Errorf("topic %s has %q, want %q", topic, got, want)
		}
	}
	if want := (broker.Member{ID: 2, Name: "node-2", Peer: "localhost:6001"}); w.joins() != 2 || w.joined != want {
		t.Errorf("%d joined, the last is %+v", w.joins(), w.joined)
	}
	until(t, "the group's acknowledgements", func() bool {
		g, err := w.memory.Group(t.Context(), "orders", "billing")
		return err == nil && g.Floor == 2
	})
}

// wire is a node in memory behind all its APIs.
type wire struct {
	*testing.T
	memory     *brokertest.InMemory
	grpc, http string // addresses

	mu     sync.Mutex // guards all below
	joined broker.Member
	count  int
}

// joinable is a node that others may join.
type joinable struct {
	broker.Broker
	w *wire
}

func (j joinable) Join(ctx context.Context, m broker.Member) (broker.Status, error) {
	j.w.mu.Lock()
	defer j.w.mu.Unlock()
	j.w.joined = m
	j.w.count++
	return j.Status(ctx)
}

func (w *wire) joins() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.count
}

func newWire(t *testing.T) *wire {
	t.Helper()
	w := &wire{T: t, memory: brokertest.Memory()}
	t.Cleanup(w.memory.Close)
	b := joinable{w.memory, w}
	open := register.New(0)
	mounts, err := graphql.Handlers(graphql.Config{Broker: b, Register: open})
	if err != nil {
		t.Fatal(err)
	}
	front, err := rest.New(rest.Config{Broker: b, Register: open, Mounts: mounts})
	if err != nil {
		t.Fatal(err)
	}
	for at, serve := range map[*string]func(context.Context, endpoint.Endpoint) error{
		&w.grpc: func(ctx context.Context, at endpoint.Endpoint) error {
			return grpc.Serve(ctx, at, b, grpc.Options{})
		},
		&w.http: func(ctx context.Context, at endpoint.Endpoint) error { return front.Serve(ctx, at, false) },
	} {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		*at = l.Addr().String()
		ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
		ended := make(chan error, 1)
		go func() { ended <- serve(ctx, endpoint.Endpoint{Listener: l}) }()
		t.Cleanup(func() {
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
	return w
}

// stored is what a topic has.
func (w *wire) stored(topic string) (all []string) {
	ctx, cancel := context.WithTimeout(w.Context(), patience)
	defer cancel()
	is, err := w.memory.Topic(ctx, topic, true)
	if err != nil {
		w.Fatal(err)
	}
	feed, err := w.memory.Subscribe(ctx, broker.Start{Topic: topic, From: broker.FromOldest})
	if err != nil {
		w.Fatal(err)
	}
	defer feed.Close()
	for uint64(len(all)) < is.Next {
		b, err := feed.Next(ctx, broker.Room{Bytes: hermes.RunLimit})
		if err != nil {
			w.Fatal(err)
		}
		for text := range record.Messages(b.Messages) {
			var m hermes.Message
			if err := record.ReadMessage(text, &m); err != nil {
				w.Fatal(err)
			}
			all = append(all, string(m.Payload))
		}
	}
	return all
}

// play sends what a file has, and holds the replies to it.
func (w *wire) play(file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		w.Fatal(err)
	}
	address, quoted := w.grpc, bytes.Contains(text, []byte("\n> \""))
	if quoted {
		address = w.http
	}
	conn, err := net.Dial("tcp", address)
	if err != nil {
		w.Fatal(err)
	}
	// Closed at the end: what the server sends that is not read would reset the connection, and what it has not
	// read.
	w.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		w.Fatal(err)
	}
	replies := w.replies(conn, quoted)
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		kind, rest, _ := strings.Cut(line, " ")
		switch kind {
		case ">":
			var sent []byte
			if quoted {
				var plain string
				plain, err = strconv.Unquote(rest)
				sent = []byte(plain)
			} else {
				sent, err = hex.DecodeString(rest)
			}
			if err == nil {
				_, err = conn.Write(sent)
			}
		case "<":
			err = replies(rest)
		}
		if err != nil {
			w.Fatalf("%s:%d: %s: %v", file, i+1, line, err)
		}
	}
}

// replies reads what a server answers on a connection, and compares it.
func (w *wire) replies(conn net.Conn, plain bool) func(want string) error {
	if plain {
		return plainReplies(bufio.NewReader(conn))
	}
	frames := http2.NewFramer(io.Discard, conn)
	frames.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	return func(want string) error {
		number, what, _ := strings.Cut(want, " ")
		stream, err := strconv.ParseUint(number, 10, 32)
		if err != nil {
			return err
		}
		for {
			frame, err := frames.ReadFrame()
			if err != nil {
				return err
			}
			if uint64(frame.Header().StreamID) != stream {
				continue // of the connection
			}
			switch f := frame.(type) {
			case *http2.DataFrame:
				return sameData(f.Data(), what)
			case *http2.MetaHeadersFrame:
				for _, field := range f.Fields {
					if field.Name == "grpc-status" && (field.Value != "0" || what != "ok") {
						return fmt.Errorf("the stream ends with %v", f.Fields)
					}
				}
				if f.StreamEnded() {
					return nil
				}
			case *http2.RSTStreamFrame:
				return fmt.Errorf("the stream is reset: %v", f.ErrCode)
			}
		}
	}
}

// sameData compares one gRPC message with the expected one.
func sameData(got []byte, want string) error {
	if id, is := strings.CutPrefix(want, "message "); is {
		var m origin.Message
		if err := proto.Unmarshal(got[min(5, len(got)):], &m); err != nil {
			return err
		}
		if text := fmt.Sprintf("%s %s %s", m.GetId(), m.GetTopic(), m.GetPayload()); text != id ||
			m.GetTimestamp() == 0 {
			return fmt.Errorf("the message is %q, at %d", text, m.GetTimestamp())
		}
		return nil
	}
	if text := hex.EncodeToString(got); text != want {
		return fmt.Errorf("the message is %s", text)
	}
	return nil
}

// plainReplies does so for HTTP/1.1: first the reply, then lines of it.
func plainReplies(conn *bufio.Reader) func(want string) error {
	var body *bufio.Reader
	return func(want string) error {
		if begin, is := strings.CutPrefix(want, "line "); is {
			for {
				line, err := body.ReadString('\n')
				if strings.HasPrefix(line, begin) {
					return nil
				}
				if err != nil {
					return fmt.Errorf("no such line before the end: %q: %w", line, err)
				}
			}
		}
		reply, err := http.ReadResponse(conn, nil) //nolint:bodyclose // the connection is closed
		if err != nil {
			return err
		}
		body = bufio.NewReader(reply.Body)
		wanted := strings.SplitN(want, " ", 3)
		if strconv.Itoa(reply.StatusCode) != wanted[0] ||
			len(wanted) > 1 && reply.Header.Get("Content-Type") != wanted[1] {
			return fmt.Errorf("%s, %s", reply.Status, reply.Header.Get("Content-Type"))
		}
		if len(wanted) < 3 {
			return nil
		}
		text, err := io.ReadAll(body)
		if err == nil && string(text) != wanted[2] {
			err = fmt.Errorf("the body is %s", text)
		}
		return err
	}
}
