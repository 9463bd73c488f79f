package raw

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"wirelab"
)

// echoes are frames of which one with "q" asks, with "+" is a part of the reply
// and with "." its last. The right reply is what was asked.
func echoes() Frames {
	return Frames{
		Limit:   64,
		Ends:    func(b byte) bool { return b == '.' },
		Request: func(message []byte, _ time.Duration) ([]byte, string, int, error) { return message, "echo", 1, nil },
	}
}

// framed is messages, each with its length in front.
func framed(messages ...string) []byte {
	var all []byte
	for _, m := range messages {
		all = append(binary.BigEndian.AppendUint32(all, uint32(len(m))), m...)
	}
	return all
}

// newFramedBench is [newBench] over frames.
func newFramedBench(t testing.TB, bodies ...string) *bench {
	tape := newTape(echoes())
	t.Cleanup(tape.close)
	checks := make([]func(context.Context) error, len(bodies))
	for i, body := range bodies {
		checks[i] = func(ctx context.Context) error { return echoed(ctx, tape, body) }
	}
	p := &plan{to: wirelab.Dialing{Address: "x:1"}, slots: 1, connections: 1, tape: tape}
	if err := p.learn(t.Context(), tape, checks); err != nil {
		t.Fatal(err)
	}
	return benchOf(t, p)
}

// echoed is the stub's check.
func echoed(ctx context.Context, tape *Tape, body string) error {
	conn := tape.Open(ctx)
	defer conn.Close()
	if err := conn.Send(append(make([]byte, frameLength), "q"+body...)); err != nil {
		return err
	}
	got := ""
	for {
		message, err := conn.Receive(nil)
		if err != nil {
			return err
		}
		if len(message) == 0 {
			return wirelab.Errorf(wirelab.Internal, "an empty message")
		}
		got += string(message[1:])
		if message[0] == '.' {
			break
		}
	}
	if got != body {
		return &wirelab.Mismatch{Got: got, Want: body}
	}
	return nil
}

// A reply of frames is understood in whatever pieces it comes.
func TestClientReadsFramed(t *testing.T) {
	t.Parallel()
	for _, reply := range [][]string{{".one"}, {"+o", "+ne", "."}, {"+", "+one", "."}} {
		for _, piece := range []int{0, 1, 2, 5} {
			b := newFramedBench(t, "one")
			for i := range 3 { // the second time its bytes are known
				b.begin(0, 0)
				if out := b.client.output(); string(*out) != string(framed("qone")) {
					t.Fatalf("it asks %q", *out)
				}
				*b.client.output() = nil
				if err := b.say(framed(reply...), piece); err != nil {
					t.Fatal(err)
				}
				if len(b.ends) != i+1 || b.ends[i] != "0: <nil>" {
					t.Fatalf("%q in pieces of %d: ends %q", reply, piece, b.ends)
				}
			}
		}
	}
}

// A reply that has passed does not vouch for another.
func TestClientComparesFramed(t *testing.T) {
	t.Parallel()
	for _, other := range [][]string{{".onx"}, {".on"}, {".ones"}, {"."}, {"+one", ".s"}, {"+one", "+", "+x", "."}} {
		b := newFramedBench(t, "one")
		for i, reply := range [][]string{{".one"}, other, {".one"}, {"+one", "."}} {
			b.begin(0, 0)
			if err := b.say(framed(reply...), 0); err != nil {
				t.Fatal(err)
			}
			if passed := b.ends[i] == "0: <nil>"; passed != (i != 1) {
				t.Errorf("%q, reply %d: %s", other, i, b.ends[i])
			}
		}
	}
}

// Whatever is no reply ends the connection.
func TestClientRefusesFramed(t *testing.T) {
	t.Parallel()
	for why, said := range map[string][]byte{
		"an empty frame":      framed(""),
		"a frame too long":    framed("." + strings.Repeat("x", 64)),
		"a length beyond all": {0xff, 0xff, 0xff, 0xff, '.'},
		"more than the reply": framed(".one", ".one"),
	} {
		b := newFramedBench(t, "one")
		b.begin(0, 0)
		if err := b.say(said, 0); err == nil {
			t.Errorf("%s is taken; ends %q", why, b.ends)
		}
	}
	b := newFramedBench(t, "one")
	if err := b.say([]byte{0}, 0); err == nil {
		t.Error("a reply without a request is taken")
	}
}

// A call of several messages, or of none, cannot be learnt.
func TestOneMessageIsLearnt(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 2} {
		tape := newTape(echoes())
		check := func(ctx context.Context) error {
			conn := tape.Open(ctx)
			defer conn.Close()
			for range n {
				_ = conn.Send(make([]byte, frameLength+1)) // it is being learnt
			}
			return errLearning
		}
		p := &plan{slots: 1, connections: 1, tape: tape}
		if err := p.learn(t.Context(), tape, []func(context.Context) error{
			check,
		}); wirelab.CodeOf(err) != wirelab.Unimplemented {
			t.Errorf("%d messages: %v", n, err)
		}
	}
	p := &plan{slots: 2, connections: 1}
	if err := p.learn(t.Context(), nil, make([]func(context.Context) error,
		1)); wirelab.CodeOf(err) != wirelab.InvalidArgument {
		t.Errorf("two calls at once on one connection: %v", err)
	}
}

func FuzzFramed(f *testing.F) {
	f.Add(append([]byte{0xff}, framed(".one")...))
	f.Add(append([]byte{1}, framed("+o", "+ne", ".")...))
	f.Add(append([]byte{0}, framed(".one", fmt.Sprint(1))...))
	f.Fuzz(func(t *testing.T, data []byte) { driveBench(t, newFramedBench(t, "one", "two"), 1, data) })
}
