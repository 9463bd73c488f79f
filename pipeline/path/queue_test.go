package path_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"wirelab"
	"wirelab/broker/workqueue"
	"wirelab/pipeline/message"
	"wirelab/pipeline/path"
	"wirelab/workload/logging"
)

// publisher is a queue's end that keeps what it is given.
type publisher struct {
	receipt workqueue.Receipt
	fails   error
	taken   []workqueue.Message
	closed  int
	wait    bool // until the context ends
}

func (p *publisher) Publish(ctx context.Context, m workqueue.Message) (workqueue.Receipt, error) {
	p.taken = append(p.taken, m)
	if p.wait {
		<-ctx.Done()
		return workqueue.Receipt{}, cmp.Or(p.fails, ctx.Err())
	}
	return p.receipt, p.fails
}

func (p *publisher) Close() error { p.closed++; return nil }

// broker notes what it is asked; methods that no path calls are not there.
type broker struct {
	workqueue.Queues
	end   publisher
	asked []string
	fails map[string]error
}

func (b *broker) Declare(_ context.Context, o workqueue.Options) error {
	b.asked = append(b.asked, "declare "+o.Name)
	return b.fails["declare"]
}

func (b *broker) Publisher(_ context.Context, o workqueue.Options) (workqueue.Publisher, error) {
	b.asked = append(b.asked, "publisher "+o.Name)
	if err := b.fails["publisher"]; err != nil {
		return nil, err
	}
	return &b.end, nil
}

// A message has the entry's id, and the entry as JSON; the receipt is the
// publisher's. Close closes the publisher.
func TestQueue(t *testing.T) {
	t.Parallel()
	at := time.Now()
	end := &publisher{receipt: workqueue.Receipt{Written: at, Confirmed: at.Add(time.Millisecond)}}
	p := path.Queue(end, path.Options{})
	receipt, err := p.Log(t.Context(), logging.Entry{ID: "i", Name: "<n>", Data: "d"})
	if err != nil {
		t.Fatal(err)
	}
	if want := (path.Receipt{ID: "i", Written: at, Confirmed: at.Add(time.Millisecond)}); receipt != want {
		t.Errorf("%+v, want %+v", receipt, want)
	}
	if len(end.taken) != 1 || end.taken[0].ID != "i" ||
		string(end.taken[0].Body) != `{"id":"i","name":"<n>","data":"d"}` {
		t.Errorf("published %q", end.taken)
	}
	if receipt, err := p.Log(t.Context(), logging.Entry{Name: "n"}); err != nil || !logging.MadeID(receipt.ID) ||
		end.taken[1].ID != receipt.ID {
		t.Errorf("without an id: %+v, %v", receipt, err)
	}
	if err := errors.Join(p.Check(t.Context()), p.Close()); err != nil || end.closed != 1 {
		t.Errorf("closed %d times, %v", end.closed, err)
	}
}

// A publisher's errors arrive whole; one without a code is Unavailable, and a
// broker that does not answer costs the deadline.
func TestQueueFails(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why   string
		fails error
		wait  bool
		want  wirelab.Code
	}{
		{"a full buffer", wirelab.Errorf(wirelab.ResourceExhausted, "full"), false, wirelab.ResourceExhausted},
		{"a refusal", wirelab.Errorf(wirelab.Unavailable, "nacked"), false, wirelab.Unavailable},
		{"an error without a code", errors.New("boom"), false, wirelab.Unavailable},
		{"no answer", nil, true, wirelab.DeadlineExceeded},
		{"away until time was up", wirelab.Errorf(wirelab.Unavailable, "away"), true, wirelab.Unavailable},
	} {
		p := path.Queue(&publisher{fails: c.fails, wait: c.wait}, path.Options{Deadline: 5 * time.Millisecond})
		if _, err := p.Log(t.Context(), logging.Entry{Name: "n"}); err == nil || wirelab.CodeOf(err) != c.want {
			t.Errorf("%s: %v, want %v", c.why, err, c.want)
		}
	}
	away := path.Queue(&publisher{}, path.Options{Ready: func(context.Context) error { return errors.New("boom") }})
	if err := away.Check(t.Context()); err == nil || wirelab.CodeOf(err) != wirelab.Unavailable ||
		strings.Contains(err.Error(), "boom") {
		t.Errorf("a broker that is away: %v", err)
	}
}

// As published, each message declares, opens, publishes and closes (ms-M02),
// also where publishing fails; and the broker stays open.
func TestQueuePerCall(t *testing.T) {
	t.Parallel()
	b := &broker{}
	p := path.QueuePerCall(b, workqueue.Options{Name: "q"}, path.Options{})
	for _, fails := range []error{nil, wirelab.Errorf(wirelab.Unavailable, "nacked")} {
		b.end.fails = fails
		if _, err := p.Log(t.Context(), logging.Entry{Name: "n"}); (err == nil) != (fails == nil) {
			t.Errorf("%v, want %v", err, fails)
		}
	}
	if want := []string{"declare q", "publisher q", "declare q", "publisher q"}; !slices.Equal(b.asked, want) ||
		b.end.closed != 2 {
		t.Errorf("asked %v and closed %d publishers", b.asked, b.end.closed)
	}
	for _, step := range []string{"declare", "publisher"} {
		b.fails = map[string]error{step: wirelab.Errorf(wirelab.Conflict, "another kind")}
		if _, err := p.Log(t.Context(), logging.Entry{Name: "n"}); err == nil ||
			wirelab.CodeOf(err) != wirelab.Conflict {
			t.Errorf("%s fails: %v", step, err)
		}
	}
	if err := errors.Join(p.Check(t.Context()), p.Close()); err != nil {
		t.Error(err)
	}
}

// An entry that passes the check goes into a message and comes out again as it
// was; one that does not is refused by all three alike.
func FuzzMessage(f *testing.F) {
	f.Add("", "n", "d")
	f.Add("a.b~c", "\u2028", "<&>\"\\\x01\u2029\U0001F600")
	f.Add("i", "n", strings.Repeat("\u2028", workqueue.BodyLimit/6))
	f.Add("i", "n", strings.Repeat("x", logging.DataLimit))
	f.Add("/", "\x00", "\xff")
	f.Fuzz(func(t *testing.T, id, name, data string) {
		entry := logging.Entry{ID: id, Name: name, Data: data}
		if err := path.Check(entry); err != nil {
			if wirelab.CodeOf(err) != wirelab.InvalidArgument {
				t.Fatal(err)
			}
			return
		}
		if entry.ID == "" {
			entry.ID = logging.NewID()
		}
		body, err := message.Encode(entry)
		if err != nil {
			t.Fatalf("checked, but: %v", err)
		}
		if len(body) > workqueue.BodyLimit {
			t.Fatalf("%d bytes", len(body))
		}
		if back, err := message.Decode(workqueue.Message{ID: entry.ID, Body: body}); err != nil || back != entry {
			t.Fatalf("%q came back as %q, %v", entry, back, err)
		}
	})
}
