package access_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"wirelab/hermes/access"
	"wirelab/hermes/broker"
	"wirelab/hermes/broker/brokertest"
	"wirelab/wire/status"
)

// What a reload takes away ends at once, also what waits, and nothing else does; a
// file that is wrong changes nothing.
func TestReload(t *testing.T) {
	t.Parallel()
	const both = "principals:\n  - {name: a, tokens: [$a, $a2], publish: [t], subscribe: [t, u]}\n  - {name: b, " +
		"tokens: " +
		"[$b], subscribe: [t]}\n"
	p, all := policy(t, both)
	m := memory(t, "t", "u")
	b := access.Wrap(m, p)
	ctx, other := all.as(t.Context(), "a"), all.as(t.Context(), "b")
	waiting := func(ctx context.Context, topic string) <-chan error {
		t.Helper()
		f, err := b.Subscribe(ctx, broker.Start{Topic: topic})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(f.Close)
		ended := make(chan error, 1)
		go func() {
			_, err := f.Next(ctx, broker.Room{Bytes: 1 << 20})
			ended <- err
		}()
		return ended
	}
	if changed, err := p.Reload(t.Context()); changed || err != nil {
		t.Error("nothing had changed:", changed, err)
	}
	ended, second, kept := waiting(ctx, "t"), waiting(ctx, "t"), waiting(other, "t")
	write(t, all.file, "principals: [{name: a}]")
	if _, err := p.Reload(t.Context()); err == nil {
		t.Error("a wrong policy was taken")
	}
	if v := brokertest.Publish(ctx, b, run("u", "x")); status.CodeOf(v.Err) != status.PermissionDenied {
		t.Error(v.Err)
	}

	// The topic goes.
	all.reload(strings.Replace(both, "subscribe: [t, u]", "subscribe: [u]", 1))
	refused(t, "a subscription without its right", <-ended, status.PermissionDenied)
	refused(t, "another", <-second, status.PermissionDenied)
	_, err := b.Subscribe(ctx, broker.Start{Topic: "t"})
	refused(t, "a new one", err, status.PermissionDenied)

	// A right that is back does not bring back what had ended; the token goes.
	all.reload(both)
	ended = waiting(ctx, "u")
	all.reload(strings.Replace(both, "$a, $a2", "$a2", 1))
	refused(t, "a subscription without its token", <-ended, status.Unauthenticated)
	refused(t, "a publish", brokertest.Publish(ctx, b, run("t", "x")).Err, status.Unauthenticated)
	if _, err := p.Authenticate(all.made["a"]); err == nil {
		t.Error("the token is still known")
	}
	if v := brokertest.Publish(all.as(t.Context(), "a2"), b, run("t", "x")); v.Err != nil {
		t.Error("the other token:", v.Err)
	}
	if err := <-kept; err != nil { // by that publish
		t.Error("the other principal:", err)
	}
}

// Who holds another's feed and is another principal may not use it.
func TestFeedIsItsPrincipals(t *testing.T) {
	t.Parallel()
	p, all := policy(t, "principals:\n  - {name: a, tokens: [$a, $a2], subscribe: [t]}\n  - {name: b, tokens: [$b], "+
		"subscribe: [t]}\n")
	m := memory(t, "t")
	b, ctx := access.Wrap(m, p), all.as(t.Context(), "a")
	f, err := b.Subscribe(ctx, broker.Start{Topic: "t", From: broker.FromGroup, Group: "g"})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if v := brokertest.Publish(ctx, m, run("t", "x", "y")); v.Err != nil {
		t.Fatal(v.Err)
	}
	if _, err := f.Next(ctx, broker.Room{Bytes: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	one, other := []broker.Range{{First: 0, Last: 0}}, all.as(t.Context(), "b")
	_, err = f.Next(other, broker.Room{Bytes: 1})
	refused(t, "another's next", err, status.PermissionDenied)
	refused(t, "another's ack", f.Ack(other, one), status.PermissionDenied)
	refused(t, "another's nack", f.Nack(other, one, "", 0), status.PermissionDenied)
	for _, mine := range []context.Context{ctx, all.as(t.Context(), "a2"), t.Context()} {
		if err := f.Ack(mine, one); err != nil {
			t.Error(err)
		}
	}
	if err := f.Nack(ctx, []broker.Range{{First: 1, Last: 1}}, "no", 0); err != nil {
		t.Error(err)
	}
	all.reload("principals:\n  - {name: b, tokens: [$b], subscribe: [t]}\n")
	refused(t, "an ack after the principal went", f.Ack(ctx, one), status.Unauthenticated)
}

// Reloads, subscriptions and publishes at once: for the race detector, and so that no
// subscription that began before a reload outlives what it took away.
func TestReloadMeanwhile(t *testing.T) {
	t.Parallel()
	const with, without = "principals:\n  - {name: a, tokens: [$a], publish: [t], subscribe: [t]}\n",
		"principals:\n  - {name: a, tokens: [$a], publish: [t]}\n"
	p, all := policy(t, with)
	b, ctx := access.Wrap(memory(t, "t"), p), all.as(t.Context(), "a")
	var work sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		work.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				f, err := b.Subscribe(ctx, broker.Start{Topic: "t", From: broker.FromOldest})
				if err == nil {
					_, err = f.Next(ctx, broker.Room{Bytes: 100})
					f.Close()
				}
				if err != nil && status.CodeOf(err) != status.PermissionDenied {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 50 {
		if v := brokertest.Publish(ctx, b, run("t", "x")); v.Err != nil {
			t.Fatal(v.Err)
		}
		all.reload(without)
		all.reload(with)
	}
	close(stop)
	work.Wait()
	if n := p.Feeds(); n != 0 {
		t.Errorf("%d subscriptions are still watched", n)
	}
}

func TestFollow(t *testing.T) {
	t.Parallel()
	p, all := policy(t, "principals:\n  - {name: a, tokens: [$a]}\n")
	var said notes
	ctx, cancel := context.WithCancel(t.Context())
	var following sync.WaitGroup
	following.Go(func() { p.Follow(ctx, time.Millisecond, said.logger()) })
	write(t, all.file, "principals: none")
	said.wait(t, "cannot be read")
	all.write("principals:\n  - {name: b, tokens: [$b]}\n")
	said.wait(t, "was read again")
	cancel()
	following.Wait()
	if _, err := p.Authenticate(all.made["b"]); err != nil {
		t.Error(err)
	}
	if n := strings.Count(said.text(), "cannot be read"); n != 1 {
		t.Errorf("it was told %d times:\n%s", n, said.text())
	}
	for _, token := range all.made {
		if strings.Contains(said.text(), token) {
			t.Error("the log shows a token")
		}
	}
}

// slow is a broker whose feeds do something while their reader waits, and deliver whatever
// became of him.
type slow struct {
	broker.Broker
	broker.Feed
	inBetween func()
}

func (s slow) Subscribe(context.Context, broker.Start) (broker.Feed, error) { return s, nil }

func (s slow) Return(int) {}

func (s slow) Next(context.Context, broker.Room) (broker.Batch, error) {
	s.inBetween()
	return broker.Batch{Count: 1, Messages: brokertest.Messages("x")}, nil
}

func (s slow) Close() {}

// Messages that come after the right to them went are not handed out.
func TestRightIsLostWhileWaiting(t *testing.T) {
	t.Parallel()
	p, all := policy(t, "principals:\n  - {name: a, tokens: [$a], subscribe: [t]}\n")
	b := access.Wrap(slow{inBetween: func() {
		all.reload("principals:\n  - {name: a, tokens: [$a], subscribe: [u]}\n")
	}},
		p)
	ctx := all.as(t.Context(), "a")
	f, err := b.Subscribe(ctx, broker.Start{Topic: "t"})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	batch, err := f.Next(ctx, broker.Room{Bytes: 1})
	refused(t, "a message that came too late", err, status.PermissionDenied)
	if batch.Messages != nil {
		t.Error("it is handed out all the same")
	}
}

// A file that is looked at while it is written throws no caller out.
func TestHalfWritten(t *testing.T) {
	t.Parallel()
	const both = "principals:\n  - {name: a, tokens: [$a]}\n  - {name: b, tokens: [$b]}\n"
	p, all := policy(t, both)
	look := p.Looking(t.Context())
	for i, step := range []struct {
		text    string
		changed bool
	}{
		{both, false},
		{both, false},
		{"principals:\n  - {name: a, tokens: [$a]}\n", false}, // half
		{both + "  - {name: c, tokens: [$c]}\n", false},
		{both + "  - {name: c, tokens: [$c]}\n", true},
	} {
		all.write(step.text)
		if changed, err := look(); changed != step.changed || err != nil {
			t.Errorf("step %d: %v, %v", i, changed, err)
		}
		if _, err := p.Authenticate(all.made["b"]); err != nil {
			t.Errorf("step %d throws out b", i)
		}
	}
	if _, err := p.Authenticate(all.made["c"]); err != nil {
		t.Error(err)
	}
}
