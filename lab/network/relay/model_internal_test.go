package relay

import (
	"math/rand/v2"
	"testing"
	"time"

	"wirelab/lab/network"
)

// losing is a sender on a path that loses exactly the chosen segments: the loss is set to all or nothing for each.
type losing struct {
	sender
	way *way
	r   *rand.Rand
	due map[uint64]int64
	n   uint64
}

func newLosing(spec network.Spec) *losing {
	w := &way{}
	w.open(spec)
	return &losing{sender: newSender(w, 0), way: w, r: rand.New(rand.NewPCG(1, 1)), due: map[uint64]int64{}}
}

// pass sends a segment at a time, loses it this many times, and reports it to the earlier ones.
func (l *losing) pass(at int64, lost int) {
	takes := int64(l.way.spec.RTT / 2)
	l.way.spec.Loss = 0
	if lost > 0 {
		l.way.spec.Loss = 1 // always, up to the limit of repeats
	}
	due, again := l.send(at, takes, segment, l.n, l.r)
	l.way.spec.Loss = 0
	if !again {
		l.reported(at, takes, func(number uint64, due int64) { l.due[number] = min(l.due[number], due) })
	}
	l.due[l.n] = due
	l.n++
}

// once subtracts the cost of losing every retransmission: the test's path loses all of them.
func (l *losing) once() int64 {
	more, timeout := int64(0), l.rto
	for range repeatsMax - 1 {
		more += timeout
		timeout *= 2
	}
	return more
}

// A loss costs what the documents say.
func TestLossCosts(t *testing.T) {
	t.Parallel()
	const rtt, ms = int64(40 * time.Millisecond), int64(time.Millisecond)
	rto := rtt + int64(leastTimeout)
	for name, c := range map[string]struct {
		before, after int // segments sent just before and after the lost one, a ms apart
		arrives       int64
	}{
		"alone waits for the timeout":                    {0, 0, rtt/2 + rto},
		"the last of several for the probe":              {3, 0, rtt/2 + 2*rtt},
		"one later segment tells, but may be early":      {0, 1, 1*ms + rtt + rtt/4 + rtt/2},
		"two later ones tell no more":                    {0, 2, 1*ms + rtt + rtt/4 + rtt/2},
		"three later ones tell at once":                  {0, 3, 3*ms + rtt + rtt/2},
		"more do not tell again":                         {0, 9, 3*ms + rtt + rtt/2},
		"in the middle it is no other than at the start": {5, 5, 3*ms + rtt + rtt/2},
	} {
		l := newLosing(network.Spec{RTT: time.Duration(rtt)})
		for i := range c.before {
			l.pass(int64(i-c.before)*ms+int64(time.Second), 0)
		}
		lost := l.n
		l.pass(int64(time.Second), 1)
		for i := range c.after {
			l.pass(int64(time.Second)+int64(i+1)*ms, 0)
		}
		if got := l.due[lost] - int64(time.Second) - l.once(); got != c.arrives {
			t.Errorf("%s: it arrives after %v, want %v", name, time.Duration(got), time.Duration(c.arrives))
		}
	}
}

// A window lets ten segments out at first, and one more for each one that is acknowledged while the window limits the
// sender. After a pause it is back at ten.
func TestWindowGrows(t *testing.T) {
	t.Parallel()
	const rtt = int64(40 * time.Millisecond)
	l := newLosing(network.Spec{RTT: time.Duration(rtt)})
	now := int64(1)
	flight := func() (sent int) {
		for {
			bytes, _ := l.room(now, 1<<30)
			if bytes < segment {
				return sent
			}
			l.pass(now, 0)
			sent++
		}
	}
	for i, want := range []int{10, 20, 40} {
		if got := flight(); got != want {
			t.Fatalf("flight %d has %d segments, want %d", i, got, want)
		}
		if bytes, at := l.room(now, 1<<30); bytes != 0 || at != 0 {
			t.Fatalf("there is room for %d more, to ask again at %d, before anything was delivered", bytes, at)
		}
		l.delivered(now+rtt/2, want*segment, false)
		if _, at := l.room(now, 1<<30); at != now+rtt {
			t.Fatalf("it is to ask again at %d, want %d", at, now+rtt)
		}
		now += rtt
	}
	now += l.rto + rtt
	if got := flight(); got != 10 {
		t.Errorf("after a pause %d segments are let out, want 10", got)
	}
	l.delivered(now, 10*segment, true)
	now += rtt
	if got := flight(); got != 5 {
		t.Errorf("after a timeout and ten acknowledgements %d segments are let out, want half as many", got)
	}
}

// Small messages, sent one at a time, do not change the window.
func TestWindowOfSmallMessages(t *testing.T) {
	t.Parallel()
	l := newLosing(network.Spec{RTT: time.Millisecond})
	for now := int64(1); now < int64(time.Second); now += int64(time.Millisecond) {
		l.pass(now, 0)
		l.delivered(now+int64(time.Millisecond)/2, segment, false)
		l.room(now+int64(time.Millisecond), 1)
	}
	if l.window != firstWindow {
		t.Errorf("the window is %v, want %v", l.window, firstWindow)
	}
}

// A handshake takes a round trip, and timeouts only if packets are lost.
func TestHandshake(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	if d := handshake(network.Spec{RTT: time.Second}, r); d != time.Second {
		t.Errorf("it takes %v", d)
	}
	late := 0
	for range 10_000 {
		d := handshake(network.Spec{RTT: time.Millisecond, Loss: 0.1}, r)
		switch {
		case d == time.Millisecond:
		case (d-time.Millisecond)%time.Second == 0:
			late++
		default:
			t.Fatalf("it takes %v", d)
		}
	}
	if late < 1700 || late > 2100 { // 19 % of them: 1,900, five standard deviations are 196
		t.Errorf("%d of 10,000 were late, want about 1,900", late)
	}
}

// The time on the link adds up, whatever the sizes, and its queue is bounded.
func TestLink(t *testing.T) {
	t.Parallel()
	w := &way{}
	w.open(network.Spec{Bandwidth: 1e6})
	last, sent := int64(0), 0
	for {
		at, ok := w.send(0, 1250)
		if !ok {
			if room := at + int64(w.buffer) - last; room != 0 {
				t.Errorf("there is room again at %d, the link is free at %d", at, last)
			}
			break
		}
		if sent++; at < int64(sent)*10*int64(time.Millisecond) {
			t.Fatalf("packet %d has left at %v", sent, time.Duration(at))
		}
		last = at
	}
	if bytes := sent * 1250; bytes < bufferMin || bytes > bufferMin+2*1250 {
		t.Errorf("the queue holds %d bytes, want %d", bytes, bufferMin)
	}
	w = &way{}
	w.open(network.Spec{Bandwidth: 100_000_000_000})
	last = 0
	for range 1000 {
		last, _ = w.send(last, 1500)
	}
	if last < 120_000 {
		t.Errorf("1.5 MB took %d ns at 100 Gbit/s, want at least 120,000", last)
	}
}

// Quantiles of counted times are not below the true ones.
func TestLateness(t *testing.T) {
	t.Parallel()
	var s stats
	for _, ns := range []int64{-5, 0, 3, 100, 1000, 999_999, 1 << 50} {
		s.pass(1, ns)
	}
	r := &Relay{}
	r.stats.pass(99, 1000)
	r.stats.pass(1, 1_000_000)
	before := r.Stats()
	if p50, p99, all := before.Late.Quantile(0.5), before.Late.Quantile(0.99), before.Late.Quantile(1); p50 < 1000 ||
		p50 > 1250 || p99 != p50 || all < 1_000_000 || all > 1_250_000 {
		t.Errorf("quantiles %d, %d and %d", p50, p99, all)
	}
	r.stats.pass(1, 50)
	if since := r.Stats().Since(before); since.Forwarded != 1 || since.Late.Quantile(0.5) > 63 {
		t.Errorf("since then %d, %d late", since.Forwarded, since.Late.Quantile(0.5))
	}
	if (Lateness{}).Quantile(0.5) != 0 {
		t.Error("nothing is late by something")
	}
	for i := range buckets - 1 {
		if upper(i) >= upper(i+1) || bucket(upper(i)) != i+1 || bucket(upper(i)-1) != i {
			t.Fatalf("bucket %d ends at %d, and that is in %d", i, upper(i), bucket(upper(i)))
		}
	}
}
