package acceptloop_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wirelab/internal/leaktest"
	"wirelab/wire/acceptloop"
	"wirelab/wire/status"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(leaktest.Patient(m)) }

// faulty fails to accept as often as it has errors.
type faulty struct {
	net.Listener
	mu   sync.Mutex
	errs []error
}

func (f *faulty) Accept() (net.Conn, error) {
	f.mu.Lock()
	if len(f.errs) > 0 {
		defer f.mu.Unlock()
		err := f.errs[0]
		f.errs = f.errs[1:]
		return nil, err
	}
	f.mu.Unlock()
	return f.Listener.Accept()
}

func listen(t *testing.T, address string) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

func TestAShortageIsSurvived(t *testing.T) {
	t.Parallel()
	listener := &faulty{Listener: listen(t, "127.0.0.1:0"), errs: []error{
		&net.OpError{Err: syscall.EMFILE}, &net.OpError{Err: syscall.ECONNABORTED},
	}}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	served := make(chan struct{}, 1)
	go func() {
		ended <- acceptloop.Loop(ctx, listener, func(conn net.Conn) { conn.Close(); served <- struct{}{} })
	}()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	<-served
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("%v after a stop, want nil", err)
	}
}

func TestABrokenListenerEndsTheLoop(t *testing.T) {
	t.Parallel()
	listener := &faulty{Listener: listen(t, "127.0.0.1:0"), errs: []error{errors.New("broken")}}
	err := acceptloop.Loop(t.Context(), listener, func(net.Conn) {})
	if err == nil || status.CodeOf(err) != status.Unavailable {
		t.Errorf("%v, want unavailable", err)
	}
	if _, err := listener.Listener.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the listener is left open: %v", err)
	}
}

// A listener whose Close takes effect before it returns, as the kernel's may:
// the port must be free when the loop is over.
type slow struct {
	net.Listener
	closing chan struct{} // Close has begun
	goOn    chan struct{}
	over    bool // Close is done
}

func (s *slow) Accept() (net.Conn, error) {
	<-s.closing
	return nil, net.ErrClosed
}

func (s *slow) Close() error {
	close(s.closing)
	<-s.goOn
	s.over = true
	return s.Listener.Close()
}

func TestTheLoopOutlivesItsListener(t *testing.T) {
	t.Parallel()
	listener := &slow{Listener: listen(t, "127.0.0.1:0"), closing: make(chan struct{}), goOn: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ended := make(chan error, 1)
	go func() { ended <- acceptloop.Loop(ctx, listener, func(net.Conn) {}) }()
	<-listener.closing
	select {
	case <-ended:
		t.Error("the loop is over while its listener still closes")
		close(listener.goOn)
		return
	case <-time.After(100 * time.Millisecond): // too short a wait could only miss the fault
	}
	close(listener.goOn)
	if err := <-ended; err != nil || !listener.over {
		t.Errorf("%v, closed %v", err, listener.over)
	}
}
