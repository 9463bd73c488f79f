package stack

import (
	"context"
	"sync"

	"wirelab/system/cluster"
)

// server is a broker's server of our own, alone: package rabbitmq's, nats's or
// hermes/local's.
type server interface {
	cluster.Server
	Address() string
	Version() string
}

// served is the piece of a server. That is made once, and keeps what it has until
// it is closed.
type served struct {
	name, product, endpoint string
	make                    func(ctx context.Context) (server, error)

	mu      sync.Mutex // guards all below
	server  server     // nil: not made yet
	running bool       // as far as it was ended here
}

var _ piece = (*served)(nil)

func (r *served) start(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var err error
	if r.server == nil {
		var made server
		if made, err = r.make(ctx); err == nil {
			r.server = made
		}
	} else {
		err = r.server.Restart(ctx)
	}
	r.running = err == nil
	return err
}

// url holds the password.
func (r *served) url() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.server == nil {
		return ""
	}
	return r.server.URL()
}

func (r *served) kill(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.server == nil {
		return nil
	}
	r.running = false
	return r.server.Kill(ctx)
}

// stop kills: a server is stopped for good, or to be started again at once, or
// killed, and what it confirmed survives each.
func (r *served) stop(ctx context.Context) error { return r.kill(ctx) }

func (r *served) close(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.server == nil {
		return nil
	}
	r.running = false
	return r.server.Stop(ctx)
}

func (r *served) over() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.running {
		return nil
	}
	return r.server.Done()
}

func (r *served) ended() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.running {
		return nil
	}
	return r.server.Err()
}

func (r *served) part() Part {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := Part{Name: r.name}
	if r.server != nil {
		p.Endpoints = map[string]string{r.endpoint: r.server.Address()}
		p.About = r.product + " " + r.server.Version()
	}
	if r.running {
		p.PID = r.server.PID()
	}
	return p
}
