// Package logger is the process that stores log entries: one service behind
// several doors, each a protocol's server, with a journal of what was stored. It
// knows neither the protocols nor what is behind the service.
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

// Endpoint is a way into the logger.
type Endpoint struct {
	Name     string // for messages: "grpc"
	Listener net.Listener
	Server   wirelab.Server[logging.Service] // of a binding without TLS
}

// Options say what a logger is.
type Options struct {
	// Service stores. It is the caller's to open and to close.
	Service   logging.Service
	Journal   *journal.Journal // nil: none
	Endpoints []Endpoint
	// Watch is where health and journal are served: apart from the doors, so that
	// these are what the bindings made them and whoever looks is in nobody's way.
	Watch net.Listener
	Drain time.Duration // how long a stop waits for calls; 0: [wirelab.DefaultDrain]
}

// Serve serves until ctx ends, then takes no more calls, waits for those in
// flight as the drain allows and returns nil. A door that fails closes the
// others, and is the error.
func Serve(ctx context.Context, o Options) error {
	at := wirelab.Endpoint{Drain: o.Drain}
	service := Journalled(o.Service, o.Journal)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	// Health is told until the last door is closed: a logger that drains is not gone.
	watched, unwatch := context.WithCancel(context.WithoutCancel(ctx))
	defer unwatch()
	watching := make(chan error, 1)
	go func() {
		err := health.Serve(watched, o.Watch, health.Handler(o.Journal, Check(o.Service)), at.DrainTime())
		stop() // by itself only if it failed
		watching <- err
	}()
	var serving sync.WaitGroup
	failed := make([]error, len(o.Endpoints))
	for i, endpoint := range o.Endpoints {
		serving.Go(func() {
			defer stop()
			if err := endpoint.Server.Serve(ctx, wirelab.Endpoint{Listener: endpoint.Listener, Drain: o.Drain},
				service); err != nil {
				failed[i] = fmt.Errorf("door %s: %w", endpoint.Name, err)
			}
		})
	}
	serving.Wait()
	unwatch()
	return errors.Join(errors.Join(failed...), <-watching)
}

// Check asks whether a service can store.
func Check(service logging.Service) health.Check {
	return health.Check{Name: "database", Ask: func(ctx context.Context) error { return logging.Ready(ctx, service) }}
}

// Journalled is a service that notes each entry once it is stored, again or for
// the first time, or that it was not.
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
		// Without an id nobody could tell which it was.
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
