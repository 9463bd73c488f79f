package part

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"wirelab"
	"wirelab/pipeline/health"
	"wirelab/pipeline/path"
)

// open is a path whose peer answers.
type open struct{ path.Path }

func (open) Check(context.Context) error { return nil }

// TestWatchedPath checks that the health of a gateway includes the health of the logger: one that answers but whose
// database is unavailable is not healthy (ms-D15).
func TestWatchedPath(t *testing.T) {
	t.Parallel()
	var away atomic.Bool
	logger := httptest.NewServer(health.Handler(nil, health.Check{Name: "database", Ask: func(context.Context) error {
		if away.Load() {
			return wirelab.Errorf(wirelab.Unavailable, "it is away")
		}
		return nil
	}}))
	defer logger.Close()
	defer http.DefaultClient.CloseIdleConnections()
	way := watched{open{}, logger.URL + "/health"}
	if err := way.Check(t.Context()); err != nil {
		t.Errorf("all is well, but: %v", err)
	}
	away.Store(true)
	if err := way.Check(t.Context()); err == nil || wirelab.CodeOf(err) != wirelab.Unavailable ||
		!strings.Contains(err.Error(), "it is away") {
		t.Errorf("without its database: %v", err)
	}
}
