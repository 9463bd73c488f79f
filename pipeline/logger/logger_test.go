package logger_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"

	"go.uber.org/goleak"

	"wirelab"
	"wirelab/internal/leaktest"
	"wirelab/pipeline/health"
	"wirelab/pipeline/journal"
	"wirelab/pipeline/logger"
	"wirelab/workload/logging"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(leaktest.Patient(closing{m}))
}

// closing are the tests, after which the default client's connections are closed.
type closing struct{ *testing.M }

func (c closing) Run() int {
	defer http.DefaultClient.CloseIdleConnections()
	return c.M.Run()
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// What was stored is noted once it is, a duplicate as one, and a failure by its
// id, if it has one; replies are those of the service.
func TestJournalled(t *testing.T) {
	t.Parallel()
	j := journal.New(16)
	service := logger.Journalled(logging.New(), j)
	write := func(e logging.Entry) (logging.Written, error) { return service.WriteLog(t.Context(), e) }
	for _, c := range []struct {
		why   string
		entry logging.Entry
		code  wirelab.Code // Internal: none
		what  journal.What // 0: nothing is noted
	}{
		{"the first time", logging.Entry{ID: "a", Name: "n"}, wirelab.Internal, journal.Stored},
		{"again", logging.Entry{ID: "a", Name: "n"}, wirelab.Internal, journal.Duplicate},
		{"with another content", logging.Entry{ID: "a", Name: "m"}, wirelab.Conflict, journal.Failed},
		{"none that could be stored, and nameless", logging.Entry{}, wirelab.InvalidArgument, 0},
		{"an id that the logger makes", logging.Entry{Name: "n"}, wirelab.Internal, journal.Stored},
	} {
		_, before, _ := j.Since(0, 100)
		written, err := write(c.entry)
		if (err != nil) != (c.code != wirelab.Internal) || err != nil && wirelab.CodeOf(err) != c.code {
			t.Errorf("%s: %v, want %v", c.why, err, c.code)
		}
		events, _, _ := j.Since(before, 100)
		if c.what == 0 {
			if len(events) != 0 {
				t.Errorf("%s: noted %v", c.why, events)
			}
			continue
		}
		id := written.ID
		if err != nil {
			id = c.entry.ID
		}
		if len(events) != 1 || events[0].ID != id || events[0].What != c.what {
			t.Errorf("%s: noted %v, want %v of %q", c.why, events, c.what, id)
		}
	}
}

// gone is a service whose database is away.
type gone struct{ logging.Service }

func (gone) Ready(context.Context) error {
	return wirelab.Errorf(wirelab.Unavailable, "the database is away")
}

// endpoint returns a listener whose server only waits, and then returns nil, or an error if ends is set.
func endpoint(t *testing.T, name string, entered chan<- logging.Service, ends <-chan error) logger.Endpoint {
	return logger.Endpoint{Name: name, Listener: listen(t), Server: wirelab.Server[logging.Service]{
		Serve: func(ctx context.Context, at wirelab.Endpoint, service logging.Service) error {
			defer at.Listener.Close()
			entered <- service
			select {
			case err := <-ends:
				return err
			case <-ctx.Done():
				return nil
			}
		},
	}}
}

// TestServe checks that all listeners lead to one service, that journal and health have an address of their own,
// that a stop closes all listeners, and that a listener that fails closes the others and is named in the error
// (ms-D15, ms-D21).
func TestServe(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for _, c := range []struct {
		why     string
		service logging.Service
		fail    bool // else it is stopped
		well    bool
	}{
		{"a stop", logging.New(), false, true},
		{"a listener that fails", logging.New(), true, true},
		{"a database that is away", gone{logging.New()}, false, false},
	} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			entered, ends := make(chan logging.Service), make(chan error, 1)
			watch, j := listen(t), journal.New(8)
			served := make(chan error, 1)
			go func() {
				served <- logger.Serve(ctx, logger.Options{
					Service: c.service, Journal: j, Watch: watch,
					Endpoints: []logger.Endpoint{endpoint(t, "one", entered, ends), endpoint(t, "two", entered, nil)},
				})
			}()
			for _, id := range []string{"a", "b"} {
				if _, err := (<-entered).WriteLog(ctx, logging.Entry{ID: id, Name: "n"}); err != nil {
					t.Error(err)
				}
			}
			address := "http://" + watch.Addr().String()
			page, err := journal.Read(ctx, address+"/journal", 0)
			if err != nil || len(page.Events) != 2 || page.Events[1].ID != "b" {
				t.Errorf("the journal is %v, %v", page.Events, err)
			}
			if err := health.Ask(ctx, address+"/health"); (err == nil) != c.well {
				t.Errorf("health is %v, want well %v", err, c.well)
			}
			if c.fail {
				ends <- broken
			} else {
				stop()
			}
			err = <-served
			if c.fail != errors.Is(err, broken) || !c.fail && err != nil {
				t.Errorf("ended with %v", err)
			}
			if err := health.Ask(t.Context(), address+"/health"); err == nil {
				t.Error("the address still answers")
			}
		})
	}
}
