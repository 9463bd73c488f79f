package rabbitmq_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	rabbit "github.com/rabbitmq/amqp091-go"

	"wirelab"
	"wirelab/broker"
	driver "wirelab/broker/rabbitmq"
	"wirelab/broker/workqueue"
)

// published returns the published topology, with an id added.
func published() driver.Topology {
	return driver.Topology{
		Exchange: "logs_topic", Key: "log.INFO", Keys: []string{"log.INFO", "log.WARNING", "log.ERROR"},
		NewID: func() string { return "made-here" },
	}
}

// body is that of the recorded entry.
const body = "{\n\t\"name\": \"event\",\n\t\"data\": \"some \\u003ckind\\u003e of data\"\n}"

// listening consumes with a topology until the test ends, and returns the received messages.
func listening(t *testing.T, url string, lost func(error), handle func(workqueue.Delivery) error) workqueue.Queues {
	t.Helper()
	exchange, err := driver.OpenExchange(t.Context(), broker.Config{Addresses: []string{url}, Patient: true},
		published())
	if err != nil {
		t.Fatal(err)
	}
	x := workqueue.Letterless(exchange, lost)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	o := workqueue.Options{Name: "unused", Prefetch: 4, Attempts: 2, Retry: time.Millisecond}
	go func() {
		ended <- x.Consume(ctx, o, func(_ context.Context, d workqueue.Delivery) error { return handle(d) })
	}()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-ended, x.Close()); err != nil {
			t.Error(err)
		}
	})
	waitFor(t, "the listener", func() bool { return x.Consuming(o) })
	return x
}

func waitFor(t *testing.T, what string, is func() bool) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("%s: not within a minute", what)
		}
	}
}

// plain returns a connection that works like the published programs.
func plain(t *testing.T) *rabbit.Channel {
	t.Helper()
	conn, err := rabbit.Dial(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	channel, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	if err := channel.ExchangeDeclare("logs_topic", "topic", true, false, false, false, nil); err != nil {
		t.Fatal(err)
	}
	return channel
}

// TestPublishedTopology checks both directions: a consumer that works like the published listener receives the
// messages published here, and a publisher that works like the published gateway reaches the listeners here. Each
// receives every message.
func TestPublishedTopology(t *testing.T) {
	heard := make(chan workqueue.Delivery, 10)
	x := listening(t, server.URL(), nil, func(d workqueue.Delivery) error { heard <- d; return nil })
	channel := plain(t)
	own, err := channel.QueueDeclare("", false, false, true, false, nil)
	if err == nil {
		err = channel.QueueBind(own.Name, "log.INFO", "logs_topic", false, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := channel.Consume(own.Name, "", true, false, false, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := x.Publisher(t.Context(), workqueue.Options{Name: "unused", Confirms: true})
	if err != nil {
		t.Fatal(err)
	}
	receipt, err := p.Publish(t.Context(), workqueue.Message{ID: "ours", Body: []byte(body)})
	if err != nil || !receipt.Confirmed.IsZero() || receipt.Written.IsZero() {
		t.Fatalf("%+v, %v", receipt, err)
	}
	if d := <-heard; d.ID != "ours" || string(d.Body) != body {
		t.Errorf("heard %+v here", d)
	}
	if d := <-theirs; string(d.Body) != body || d.ContentType != "text/plain" || d.DeliveryMode != 0 ||
		d.RoutingKey != "log.INFO" {
		t.Errorf("heard %+v there", d)
	}
	for _, key := range []string{"log.ERROR", "log.WARNING", "log.INFO"} {
		err := channel.PublishWithContext(t.Context(), "logs_topic", key, false, false,
			rabbit.Publishing{ContentType: "text/plain", Body: []byte(key)})
		if err != nil {
			t.Fatal(err)
		}
		if d := <-heard; d.ID != "made-here" || string(d.Body) != key {
			t.Errorf("%s: heard %+v", key, d)
		}
	}
}

// TestPublishedTopologyUnderLoad checks that a failing message is retried, then given up, which is reported, and
// that a consumer with more messages than it can handle loses none.
func TestPublishedTopologyUnderLoad(t *testing.T) {
	const all = 2000
	var mu sync.Mutex
	tries, lost := map[string]int{}, []error(nil)
	hold := make(chan struct{})
	lose := func(err error) { mu.Lock(); defer mu.Unlock(); lost = append(lost, err) }
	x := listening(t, server.URL(), lose, func(d workqueue.Delivery) error {
		<-hold
		mu.Lock()
		defer mu.Unlock()
		tries[d.ID]++
		switch d.ID {
		case "never":
			return wirelab.Errorf(wirelab.InvalidArgument, "no entry")
		case "twice":
			return errors.New("something")
		}
		return nil
	})
	p, err := x.Publisher(t.Context(), workqueue.Options{Name: "unused"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		id := fmt.Sprint(i)
		switch i {
		case 7:
			id = "never"
		case 8:
			id = "twice"
		}
		if _, err := p.Publish(t.Context(),
			workqueue.Message{ID: id, Body: bytes.Repeat([]byte("x"), 100)}); err != nil {
			t.Fatal(err)
		}
	}
	close(hold)
	waitFor(t, "all messages", func() bool { mu.Lock(); defer mu.Unlock(); return len(tries) == all && len(lost) == 2 })
	if tries["never"] != 1 || tries["twice"] != 2 {
		t.Errorf("tried %d and %d times", tries["never"], tries["twice"])
	}
}

// recorded returns the frames of a recording, without their channel numbers.
func recorded(t *testing.T, file string) (frames []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "origin", file))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if line[0] != '#' {
			frames = append(frames, line[:2]+line[6:len(line)-1])
		}
	}
	return frames
}

// tap passes a client's bytes on to the server, and keeps its frames, without their channel numbers.
type tap struct {
	address string
	mu      sync.Mutex
	frames  []string
}

func (w *tap) sent(frame string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range w.frames {
		if f == frame {
			return true
		}
	}
	return false
}

func newTap(t *testing.T) *tap {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &tap{address: l.Addr().String()}
	var passing sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); passing.Wait() })
	passing.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			passing.Go(func() { w.pass(client, &passing) })
		}
	})
	return w
}

func (w *tap) pass(client net.Conn, passing *sync.WaitGroup) {
	defer client.Close()
	to, err := net.Dial("tcp", server.Address())
	if err != nil {
		return
	}
	defer to.Close()
	passing.Go(func() { _, _ = io.Copy(client, to); _ = client.Close() })
	from := bufio.NewReader(io.TeeReader(client, to))
	if _, err := io.CopyN(io.Discard, from, int64(len("AMQP0091"))); err != nil {
		return
	}
	for {
		head := make([]byte, 7)
		if _, err := io.ReadFull(from, head); err != nil {
			return
		}
		rest := make([]byte, 1+binary.BigEndian.Uint32(head[3:]))
		if _, err := io.ReadFull(from, rest); err != nil {
			return
		}
		w.mu.Lock()
		w.frames = append(w.frames, hex.EncodeToString(head[:1])+hex.EncodeToString(head[3:])+hex.EncodeToString(rest))
		w.mu.Unlock()
	}
}

// TestTheOriginsBytes checks that the bytes sent here for an entry, and to listen, equal those of the published
// programs, except for the id of a message and the names that RabbitMQ and a client choose.
func TestTheOriginsBytes(t *testing.T) {
	w := newTap(t)
	at, err := url.Parse(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	at.Host = w.address
	x := listening(t, at.String(), nil, func(workqueue.Delivery) error { return nil })
	if err := x.Declare(t.Context(), workqueue.Options{Name: "unused"}); err != nil {
		t.Fatal(err)
	}
	p, err := x.Publisher(t.Context(), workqueue.Options{Name: "unused"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Publish(t.Context(), workqueue.Message{ID: "an-id", Body: []byte(body)}); err != nil {
		t.Fatal(err)
	}
	for _, frame := range recorded(t, "broker.txt") {
		if strings.HasPrefix(frame, "02") { // the content header: flags, and the id after the type
			frame = strings.Replace(
				strings.TrimSuffix(frame, "ce")+hex.EncodeToString([]byte("\x05an-id"))+"ce",
				"8000",
				"8080",
				1,
			)
			frame = strings.Replace(frame, "0200000019", "020000001f", 1)
		}
		waitFor(t, "frame "+frame, func() bool { return w.sent(frame) })
	}
	const flags = len("0200000000ce") // of basic.consume; the names come before them
	for _, frame := range recorded(t, "listener.txt") {
		raw, err := hex.DecodeString(frame)
		if err != nil {
			t.Fatal(err)
		}
		method, named := frame[10:18], len(raw) > 12 && bytes.Contains(raw, []byte("amq.gen-"))
		waitFor(t, "frame "+frame, func() bool {
			if !named {
				return w.sent(frame)
			}
			_, after, _ := bytes.Cut(raw, []byte("amq.gen-"))
			end := hex.EncodeToString(after[22:])
			if method == "003c0014" {
				end = end[len(end)-flags:]
			}
			return w.like(method, end)
		})
	}
}

// like reports whether a frame of a method with that ending was sent.
func (w *tap) like(method, end string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range w.frames {
		if f[10:18] == method && strings.HasSuffix(f, end) {
			return true
		}
	}
	return false
}
