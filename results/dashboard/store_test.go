package dashboard

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"testing"

	"wirelab"
	"wirelab/lab/result"
	"wirelab/results/store"
)

// memory is a store of one result, for tests that ask for much in little time.
type memory struct{}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func (memory) one() *result.Result { return run(1, 1) }

func (memory) Put(context.Context, *result.Result) error {
	return wirelab.Errorf(wirelab.ResourceExhausted, "full")
}

func (m memory) Get(_ context.Context, id string) (*result.Result, error) {
	if r := m.one(); r.ID == id {
		return r, nil
	}
	return nil, store.NoSuch(id, nil, nil)
}

func (m memory) Raw(_ context.Context, id string) (store.Stored, error) {
	r := m.one()
	if r.ID != id {
		return store.Stored{}, store.NoSuch(id, nil, nil)
	}
	text, err := store.Encode(r)
	return store.Stored{Summary: store.Summarize(r), JSON: text}, err
}

func (memory) PutText(context.Context, []byte) error {
	return wirelab.Errorf(wirelab.ResourceExhausted, "full")
}

func (memory) Digest(context.Context, string) (string, error) { return "", nil }

func (m memory) List(_ context.Context, f store.Filter) ([]store.Summary, error) {
	if _, err := f.Size(); err != nil {
		return nil, err
	}
	return []store.Summary{store.Summarize(m.one())}, nil
}

func (memory) Total(context.Context, store.Filter) (store.Total, error) {
	return store.Total{Results: 1}, nil
}

func (m memory) Values(context.Context) (store.Values, error) {
	return store.Gather([]store.Summary{store.Summarize(m.one())}), nil
}
func (memory) SetLabel(_ context.Context, id, _ string) (string, error) { return id, nil }
func (memory) SetFinding(context.Context, string, string) error         { return nil }
func (memory) PutPacked(context.Context, store.Packed) error            { return nil }
func (memory) SetOrigin(context.Context, string, string) error          { return nil }
func (memory) Delete(context.Context, string) error                     { return nil }
func (memory) Report(context.Context, store.Running) error              { return nil }
func (memory) Running(context.Context) ([]store.Running, error)         { return []store.Running{}, nil }
func (memory) Forget(context.Context, string) error                     { return nil }
func (memory) Close() error                                             { return nil }

// recorder keeps an answer.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *recorder) Header() http.Header { return w.header }
func (w *recorder) WriteHeader(s int)   { w.status = s }
func (w *recorder) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.body.Write(p)
}

// visit asks a dashboard without a network.
func visit(tb testing.TB, board *Dashboard, path string) *recorder {
	tb.Helper()
	address, err := url.ParseRequestURI(path)
	if err != nil {
		tb.Fatal(err)
	}
	w := &recorder{header: http.Header{}}
	r := (&http.Request{
		Method: http.MethodGet, URL: address, Host: "localhost", Header: http.Header{},
		Body: http.NoBody,
	}).WithContext(tb.Context())
	board.handler(tb.Context(), true).ServeHTTP(w, r)
	return w
}
