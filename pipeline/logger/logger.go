// Package logger is the process that stores log entries: one service behind several listeners, each with the server
// of one protocol, and a journal of what was stored. It knows neither the protocols nor the store behind the
// service.
package logger

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"wirelab"
	"wirelab/pipeline/health"
	"wirelab/pipeline/journal"
	"wirelab/workload/logging"
)

// Endpoint is a listener of the logger, with the server that serves it.
type Endpoint struct {
	Name     string // for error messages: "grpc"
	Listener net.Listener
	Server   wirelab.Server[logging.Service] // of a binding without TLS
}

// Options configure a logger.
type Options struct {
	// Service stores the entries. The caller opens and closes it.
	Service   logging.Service
	Journal   *journal.Journal // nil: none
	Endpoints []Endpoint
	// Watch is where health and journal are served. It is separate from the other listeners, so that these serve
	// exactly what their bindings define, and requests for health do not disturb them.
	Watch net.Listener
	Drain time.Duration // how long a stop waits for calls; 0: [wirelab.DefaultDrain]
}

// Serve serves until ctx ends. Then it stops accepting calls, waits for those in flight as long as Drain allows,
// and returns nil. If one listener fails, Serve closes the others and returns the error.
func Serve(ctx context.Context, o Options) error {
	at := wirelab.Endpoint{Drain: o.Drain}
	service := Journalled(o.Service, o.Journal)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	// Health is served until the last listener is closed: a logger that drains is still alive.
	watched, unwatch := context.WithCancel(context.WithoutCancel(ctx))
	defer unwatch()
	watching := make(chan error, 1)
	go func() {
		err := health.Serve(watched, o.Watch, health.Handler(o.Journal, Check(o.Service)), at.DrainTime())
		stop() // has an effect only if this one failed
		watching <- err
	}()
	var serving sync.WaitGroup
	failed := make([]error, len(o.Endpoints))
	for i, endpoint := range o.Endpoints {
		serving.Go(func() {
			defer stop()
			if err := endpoint.Server.Serve(ctx, wirelab.Endpoint{Listener: endpoint.Listener, Drain: o.Drain},
				service); err != nil {
				failed[i] = fmt.Errorf("listener %s: %w", endpoint.Name, err)
			}
		})
	}
	serving.Wait()
	unwatch()
	return errors.Join(errors.Join(failed...), <-watching)
}

// Check returns the health check of a service: whether it can store.
func Check(service logging.Service) health.Check {
	return health.Check{Name: "database", Ask: func(ctx context.Context) error { return logging.Ready(ctx, service) }}
}

// Journalled returns a service that records for each entry whether it was stored, was a duplicate, or failed.
func Journalled(service logging.Service, j *journal.Journal) logging.Service {
	return journalled{service, j}
}

type journalled struct {
	logging.Service
	journal *journal.Journal
}

// WriteLog implements [logging.Service].
func (s journalled) WriteLog(ctx context.Context, entry logging.Entry) (logging.Written, error) {
	written, err := s.Service.WriteLog(ctx, entry)
	switch now := time.Now(); {
	case err != nil:
		// The journal identifies entries by id, so an entry without one is not recorded.
		if entry.ID != "" {
			s.journal.Note(entry.ID, journal.Failed, now)
		}
	case written.Again():
		s.journal.Note(written.ID, journal.Duplicate, now)
	default:
		s.journal.Note(written.ID, journal.Stored, now)
	}
	return written, err
}

// Ready implements [logging.Readier].
func (s journalled) Ready(ctx context.Context) error { return logging.Ready(ctx, s.Service) }
