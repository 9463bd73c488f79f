package gateway

import (
	"context"
	"net/http"
	"sync"
	"time"

	"wirelab"
	"wirelab/pipeline/path"
)

// healthTime limits the health check of one path.
const healthTime = 2 * time.Second

// health answers GET /health with the state of every path. All paths are asked at once, or the result of a check
// that is already running is shared. The status is 200 if the peer of every path that is set up is available. A
// path that is not set up is listed, and does not make the gateway unhealthy. (ms-D15: the published heartbeat
// checks nothing.)
func (g *Gateway) health(w http.ResponseWriter, r *http.Request) {
	found, err := g.checks.share(r.Context(), g.examineAll)
	if err != nil {
		fail(w, err) // the caller has gone, so this is not read
		return
	}
	told, status := envelope{Message: "healthy", Data: map[string][]state{"paths": found}}, http.StatusOK
	for _, s := range found {
		if !s.OK && !s.Absent {
			told.Error, told.Message, status = true, "path "+s.Name+" does not work: "+s.Message,
				http.StatusServiceUnavailable
			break
		}
	}
	answer(w, status, told)
}

// checks lets requests that arrive during a check share its result. Each check asks every broker and logger, so
// many at once would be a load of their own.
type checks struct {
	mu      sync.Mutex // guards below
	running *check     // nil: none
}

// check is one run over all paths.
type check struct {
	done  chan struct{} // closed once found is set
	found []state
}

// share returns the result of the running check, or runs one. The check does not end with its first caller, since
// others may wait for it.
func (c *checks) share(ctx context.Context, examine func(context.Context) []state) ([]state, error) {
	c.mu.Lock()
	one := c.running
	if one != nil {
		c.mu.Unlock()
		select {
		case <-one.done:
			return one.found, nil
		case <-ctx.Done():
			return nil, wirelab.Public(ctx.Err())
		}
	}
	one = &check{done: make(chan struct{})}
	c.running = one
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		c.running = nil
		c.mu.Unlock()
		close(one.done)
	}()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), healthTime)
	defer cancel()
	one.found = examine(ctx)
	return one.found, nil
}

// examineAll checks all paths concurrently.
func (g *Gateway) examineAll(ctx context.Context) []state {
	names := g.names()
	found := make([]state, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		way, ok := g.options.Paths[name]
		if !ok || way == nil {
			found[i] = state{Name: name, Absent: true, Message: wirelab.Public(g.absent(name)).Message}
			continue
		}
		wg.Go(func() { found[i] = examine(ctx, name, way) })
	}
	wg.Wait()
	return found
}

// state is the health of one path.
type state struct {
	Name    string `json:"path"`
	OK      bool   `json:"ok"`
	Absent  bool   `json:"absent,omitempty"`
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
}

// examine checks one path. It recovers from panics itself, since it runs on a goroutine that net/http does not
// guard.
func examine(ctx context.Context, name string, way path.Path) (s state) {
	s = state{Name: name}
	defer func() {
		if recover() != nil {
			s = state{Name: name, Code: wirelab.Internal.String(), Message: "the check failed"}
		}
	}()
	if err := way.Check(ctx); err != nil {
		public := wirelab.Public(err)
		s.Code, s.Message = public.Code.String(), public.Message
		return s
	}
	s.OK = true
	return s
}
