package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"wirelab"
	"wirelab/broker/workqueue"
	"wirelab/lab/databases"
	"wirelab/pipeline/stack"
	"wirelab/system/rabbitmq/rabbitmqtest"
	"wirelab/workload/logging"
)

// stored are the ids in a logger, with how often each is there.
func stored(ctx context.Context, service logging.Service) (map[string]int, error) {
	found := map[string]int{}
	for query := (logging.Query{}); ; {
		list, err := service.ListEntries(ctx, query)
		if err != nil {
			return nil, err
		}
		for _, e := range list.Entries {
			found[e.ID]++
		}
		if query.Before = list.Next; query.Before == 0 {
			return found, nil
		}
	}
}

// With confirms, and acknowledgements after the store, nothing that was accepted
// is lost when in mid-stream the listeners are killed by -9, the logger is, and
// the broker is; and what comes twice is stored once (ms-D04, D05, D07). The
// gateway continues. Entries go by both paths of a broker, by turns.
func TestUpLoggingLosesNothing(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, c := range []struct {
		broker string
		kind   workqueue.Kind
	}{
		{stack.NATSServer, ""},
		{stack.RabbitMQ, workqueue.Classic},
		{stack.Hermes, ""},
	} {
		t.Run(c.broker, func(t *testing.T) {
			t.Parallel()
			if c.broker == stack.RabbitMQ {
				rabbitmqtest.Need(t)
			}
			named := map[string]string{}
			for _, setting := range []string{hermesProgram(t), natsProgram(t)} {
				variable, program, _ := strings.Cut(setting, "=")
				named[variable] = program
			}
			s, err := stack.Start(t.Context(), stack.Options{
				Program: os.Args[0], Env: []string{asProgram + "=1"},
				Getenv: func(key string) string {
					return cmp.Or(named[key], os.Getenv(key))
				},
				Database: wirelab.DatabaseAddress{
					Kind:   databases.Embedded,
					Source: filepath.Join(t.TempDir(), "log.db"),
				},
				Brokers: []stack.Broker{{Kind: c.broker, Direct: true, Queue: workqueue.Options{
					Kind: c.kind, Confirms: true, Persistent: true,
				}}},
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := s.Stop(context.Background()); err != nil {
					t.Errorf("stop: %v", err)
				}
			})
			gateway, err := s.Part(stack.GatewayPart)
			if err != nil {
				t.Fatal(err)
			}
			url := "http://" + gateway.Endpoints[stack.EndpointHTTP] + "/"
			stream := newStream(url+stack.PathName(c.broker, false), url+stack.PathName(c.broker, true))
			stream.run(t, 600, map[int]func(){
				120: func() { killed(t, s, stack.ListenerName(c.broker, true)) },
				240: func() { killed(t, s, stack.LoggerPart) },
				360: func() { killed(t, s, c.broker) },
				480: func() { killed(t, s, stack.ListenerName(c.broker, false)) },
			})
			service := loggerAt(t, s.Parts())
			var found map[string]int
			eventually(t, "all that was accepted is stored", func() bool {
				if found, err = stored(t.Context(), service); err != nil {
					return false
				}
				for id := range stream.accepted {
					if found[id] == 0 {
						return false
					}
				}
				return true
			})
			for id, times := range found {
				if times != 1 {
					t.Errorf("%s is stored %d times", id, times)
				}
			}
			if len(stream.accepted) < 300 {
				t.Errorf("only %d of 600 were accepted: %v", len(stream.accepted), stream.refused)
			}
			select {
			case death := <-s.Died():
				t.Errorf("%s died: %v", death.Name, death.Err)
			default:
			}
		})
	}
}

// killed kills a part and starts it again.
func killed(t *testing.T, s *stack.Stack, name string) {
	t.Helper()
	if err := s.Kill(t.Context(), name); err != nil {
		t.Errorf("kill %s: %v", name, err)
	}
	if err := s.Restart(t.Context(), name); err != nil {
		t.Errorf("start %s again: %v", name, err)
	}
}

// stream is many entries that a few callers log.
type stream struct {
	urls []string // entries go to each in turn

	mu       sync.Mutex // guards all below
	accepted map[string]bool
	refused  map[string]int // by what the caller was told
}

func newStream(urls ...string) *stream {
	return &stream{urls: urls, accepted: map[string]bool{}, refused: map[string]int{}}
}

// run logs count entries by eight callers, and before an entry of a number in
// events does what is told there, the other callers going on.
func (s *stream) run(t *testing.T, count int, events map[int]func()) {
	t.Helper()
	var next atomic.Int64
	var disturbing sync.Mutex // one at a time
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for {
				n := int(next.Add(1))
				if n > count {
					return
				}
				if do := events[n]; do != nil {
					disturbing.Lock()
					do()
					disturbing.Unlock()
				}
				id := fmt.Sprintf("entry-%d", n)
				status, reply, err := post(t.Context(), s.urls[n%len(s.urls)],
					logging.Entry{ID: id, Name: "stream", Data: id})
				s.mu.Lock()
				switch {
				case err != nil:
					s.refused[err.Error()]++
				case status == http.StatusAccepted:
					s.accepted[id] = true
				default:
					s.refused[reply.Data.Code]++
				}
				s.mu.Unlock()
			}
		})
	}
	callers.Wait()
}
