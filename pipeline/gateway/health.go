package gateway

import (
	"context"
	"net/http"
	"sync"
	"time"

	"wirelab"
	"wirelab/pipeline/path"
)

// healthTime is how long a path's peer may take to say that it is there.
const healthTime = 2 * time.Second

// health answers GET /health: what is behind each path, all at once, asked now,
// or by another request that is at it. 200 if all paths that there are have their peer; a path that was not set up is
// told and makes nobody unhealthy. (ms-D15: the published heartbeat checks
// nothing.)
func (g *Gateway) health(w http.ResponseWriter, r *http.Request) {
	found, err := g.checks.share(r.Context(), g.examineAll)
	if err != nil {
		fail(w, err) // to nobody: the caller has gone
		return
	}
	told, status := envelope{Message: "healthy", Data: map[string][]state{"paths": found}}, http.StatusOK
	for _, s := range found {
		if !s.OK && !s.Absent {
			told.Error, told.Message, status = true, "path "+s.Name+" leads nowhere: "+s.Message,
				http.StatusServiceUnavailable
			break
		}
	}
	answer(w, status, told)
}

// checks lets requests that come while one examines share what it finds: each
// asks every broker and logger, and many at once would be a load of their own.
type checks struct {
	mu      sync.Mutex // guards below
	running *check     // nil: none
}

// check is one examination.
type check struct {
	done  chan struct{} // closed when found is there
	found []state
}

// share returns what the running examination finds, or makes one. It does not end
// with the caller who makes it, since others may wait.
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

// examineAll asks all paths at once.
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

// state is how a path is.
type state struct {
	Name    string `json:"path"`
	OK      bool   `json:"ok"`
	Absent  bool   `json:"absent,omitempty"`
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
}

// examine asks one path. It recovers, since it runs where net/http does not.
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
