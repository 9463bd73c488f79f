package daemon_test

import (
	"errors"
	"testing"

	"wirelab/internal/daemon"
	"wirelab/wire/status"
)

// fake is a process that ends when the test says so.
type fake struct {
	done chan struct{}
	how  error
}

func (*fake) PID() int                { return 7 }
func (f *fake) Done() <-chan struct{} { return f.done }
func (f *fake) Err() error            { return f.how }

// A server has an error only if it ended and we did not end it. It then says how, also where the process reports no
// error.
func TestRunOfAServer(t *testing.T) {
	t.Parallel()
	words := func() string { return "; its last words: no room" }
	killed := errors.New("signal: killed")
	for _, c := range []struct {
		name  string
		how   error
		want  string
		coded status.Code
	}{
		{"it died", killed, "Shop died: signal: killed; its last words: no room", status.CodeOf(killed)},
		{
			"it ended without an error", nil, "unavailable: Shop stopped by itself; its last words: no room",
			status.Unavailable,
		},
	} {
		var now daemon.Run[*fake]
		if now.PID() != 0 || now.Done() != nil || now.Err("Shop", words) != nil || now.Take() != nil {
			t.Errorf("%s: it runs before it was started", c.name)
		}
		p := &fake{done: make(chan struct{}), how: c.how}
		now.Begin(p)
		if now.PID() != 7 || now.Now() != p || now.Err("Shop", words) != nil {
			t.Errorf("%s: while it runs: %d, %v", c.name, now.PID(), now.Err("Shop", words))
		}
		if ended, _ := now.Ended(); ended {
			t.Errorf("%s: it has ended while it runs", c.name)
		}
		close(p.done)
		<-now.Done()
		if err := now.Err("Shop", words); err == nil || err.Error() != c.want || status.CodeOf(err) != c.coded {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
		if ended, how := now.Ended(); !ended || !errors.Is(how, c.how) {
			t.Errorf("%s: it ended %v, %v", c.name, ended, how)
		}
		if now.Take() != p || now.Err("Shop", words) != nil || now.Done() != nil {
			t.Errorf("%s: after we ended it: %v", c.name, now.Err("Shop", words))
		}
	}
}
