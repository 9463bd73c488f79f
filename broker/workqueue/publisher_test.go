package workqueue_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"wirelab"
	"wirelab/broker"
	"wirelab/broker/memory"
	"wirelab/broker/workqueue"
)

// script is a broker whose publishers behave as the test says.
type script struct {
	broker.Broker

	mu      sync.Mutex // guards all below
	answers []error    // of the sends, in order; later ones are held
	sent    []broker.Message
	held    []func(broker.Receipt, error)
	why     error // not nil: the broker is away
	changed chan struct{}
	more    chan struct{} // holds one element for each send
}

func newScript(answers ...error) *script {
	return &script{
		Broker: memory.New(), answers: answers, changed: make(chan struct{}), more: make(chan struct{}, 100),
	}
}

func (s *script) Publisher(context.Context, broker.PublisherConfig) (broker.Publisher, error) {
	return s, nil
}

func (s *script) Calls() bool { return false }

func (s *script) Away() (<-chan struct{}, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed, s.why
}

// goes makes the broker unavailable.
func (s *script) goes(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.why = why
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *script) Send(_ context.Context, _ string, batch []broker.Message, done func(broker.Receipt, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, batch...)
	s.more <- struct{}{}
	if len(s.answers) == 0 {
		s.held = append(s.held, done)
		return
	}
	answer := s.answers[0]
	s.answers = s.answers[1:]
	done(broker.Receipt{}, answer)
}

func (s *script) publisher(t *testing.T, buffer int) workqueue.Publisher {
	t.Helper()
	p, err := workqueue.New(s).Publisher(t.Context(), workqueue.Options{Name: "q", Confirms: true, Buffer: buffer})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var one = workqueue.Message{ID: "one", Body: []byte("1")}

// A message whose connection broke is published again; one that was refused is not.
func TestLostIsPublishedAgain(t *testing.T) {
	t.Parallel()
	refused := wirelab.Errorf(wirelab.Unavailable, "refused")
	for name, c := range map[string]struct {
		answers []error
		sends   int
		err     error
	}{
		"lost twice": {[]error{broker.ErrLost, broker.ErrLost, nil}, 3, nil},
		"refused":    {[]error{refused, nil}, 1, refused},
	} {
		s := newScript(c.answers...)
		_, err := s.publisher(t, 1).Publish(t.Context(), one)
		if !errors.Is(err, c.err) || len(s.sent) != c.sends {
			t.Errorf("%s: %v after %d sends, want %v after %d", name, err, len(s.sent), c.err, c.sends)
		}
	}
}

// TestBufferBoundsWhatIsInFlight checks that calls in flight when the broker becomes unavailable wait for it, up to
// the limit, and that one whose deadline passes reports that the broker was unavailable.
func TestBufferBoundsWhatIsInFlight(t *testing.T) {
	t.Parallel()
	const calls, buffer = 4, 1
	s := newScript()
	p := s.publisher(t, buffer)
	ctx, end := context.WithCancel(t.Context())
	defer end()
	results := make(chan error, calls)
	for range calls {
		go func() { // its result is waited for
			_, err := p.Publish(ctx, one)
			results <- err
		}()
	}
	for range calls {
		<-s.more
	}
	away := wirelab.Errorf(wirelab.Unavailable, "away")
	s.goes(away)
	for range calls - buffer {
		if err := <-results; wirelab.CodeOf(err) != wirelab.ResourceExhausted {
			t.Errorf("a call too many: %v", err)
		}
	}
	end()
	if err := <-results; wirelab.CodeOf(err) != wirelab.Canceled {
		t.Errorf("a call that was given up: %v", err)
	}
	late, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := p.Publish(late, one); !errors.Is(err, away) {
		t.Errorf("a call whose time was up while the broker was away: %v", err)
	}
}

// A call whose deadline passes while the broker is available returns DeadlineExceeded, not Unavailable.
func TestDeadline(t *testing.T) {
	t.Parallel()
	late, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := newScript().publisher(t, 1).Publish(late, one); wirelab.CodeOf(err) != wirelab.DeadlineExceeded {
		t.Errorf("%v, want deadline_exceeded", err)
	}
}

// TestDeadLetter checks that a dead letter has the id and body of the message, the reason, and a deduplication key.
func TestDeadLetter(t *testing.T) {
	t.Parallel()
	s := newScript(nil)
	q := workqueue.New(s)
	o := workqueue.Options{Name: "q", Confirms: true}
	if err := q.Declare(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	real, err := s.Broker.Publisher(t.Context(), broker.PublisherConfig{})
	if err != nil {
		t.Fatal(err)
	}
	real.Send(t.Context(), broker.QueuePrefix+"q", []broker.Message{one}, func(_ broker.Receipt, err error) {
		if err != nil {
			t.Error(err)
		}
	})
	ctx, end := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() {
		over <- q.Consume(ctx, o, func(context.Context, workqueue.Delivery) error {
			return wirelab.Errorf(wirelab.InvalidArgument, "no entry")
		})
	}()
	<-s.more
	end()
	if err := <-over; err != nil {
		t.Error(err)
	}
	m := s.sent[0]
	if m.ID != one.ID || string(m.Body) != string(one.Body) || m.Once != "1" ||
		m.Headers["wirelab-failures"] != "1" || m.Headers["wirelab-code"] != "invalid_argument" {
		t.Errorf("the letter is %+v", m)
	}
}
