package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"wirelab/internal/prereq"
	"wirelab/system/postgres"
	"wirelab/system/rabbitmq"
)

// server is one that packages share.
type server interface {
	Stop(ctx context.Context) error
}

// servers are those that packages share. They start while tests are compiled.
type servers struct {
	dir     string
	env     []string
	stop    context.CancelFunc
	starts  sync.WaitGroup
	mu      sync.Mutex // guards all below
	running []server
}

// share starts the servers that are installed, and says in files where they are.
func share(ctx context.Context, lacking []lack) (*servers, error) {
	dir, err := os.MkdirTemp("", "wirelab-shared-")
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	s := &servers{dir: dir, stop: stop}
	s.start(ctx, lacking, prereq.PostgreSQL, prereq.PostgreSQLVariable,
		func(ctx context.Context) (server, string, error) {
			found, err := postgres.Start(ctx,
				postgres.Options{Settings: []postgres.Setting{{Name: "fsync", Value: "off"}}})
			if err != nil {
				return nil, "", err
			}
			return found, found.DSN(), nil
		})
	s.start(ctx, lacking, prereq.RabbitMQ, prereq.RabbitMQVariable, func(ctx context.Context) (server, string, error) {
		found, err := rabbitmq.Start(ctx, rabbitmq.Options{})
		if err != nil {
			return nil, "", err
		}
		return found, found.URL(), nil
	})
	return s, nil
}

func (s *servers) start(ctx context.Context, lacking []lack, x prereq.Thing, variable string,
	begin func(context.Context) (server, string, error),
) {
	for _, l := range lacking {
		if l.Name == x.Name {
			return
		}
	}
	file := filepath.Join(s.dir, variable)
	s.env = append(s.env, variable+"="+file)
	s.starts.Go(func() {
		started, address, err := begin(ctx)
		if err != nil {
			_, _ = fmt.Fprintf(os.Stderr, "%s does not start for all packages; each starts its own: %v\n", x.Name, err)
			address = prereq.None
		} else {
			s.mu.Lock()
			s.running = append(s.running, started)
			s.mu.Unlock()
		}
		// Renamed when it is whole: tests wait for it to be there.
		if err := errors.Join(os.WriteFile(file+".new", []byte(address), 0o600),
			os.Rename(file+".new", file)); err != nil {
			_, _ = fmt.Fprintln(os.Stderr, err)
		}
	})
}

// end stops the servers.
func (s *servers) end() (err error) {
	s.stop()
	s.starts.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.running {
		err = errors.Join(err, one.Stop(context.Background()))
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}
