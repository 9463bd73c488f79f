package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"wirelab"
	"wirelab/pipeline/stack"
	"wirelab/queue"
)

// measurePath starts a pipeline on a fresh queue and a database, and calls its
// gateway.
func (b *bench) measurePath(ctx context.Context, c cell) (one outcome, err error) {
	o, ends, err := b.pipeline(ctx, c)
	defer func() {
		for _, end := range ends {
			err = errors.Join(err, end())
		}
	}()
	if err != nil {
		return one, err
	}
	s, err := stack.Start(ctx, o)
	if err != nil {
		return one, err
	}
	defer func() { err = errors.Join(err, s.Stop(context.WithoutCancel(ctx))) }()
	d, err := newDoor(s, c, b.options)
	if err != nil {
		return one, err
	}
	cpu, err := b.costs(s.CPU)
	if err != nil {
		return one, err
	}
	life, end := context.WithCancelCause(ctx)
	var running sync.WaitGroup
	if stores(c.subject) {
		if d.before, err = d.position(ctx); err != nil {
			end(nil)
			return one, err
		}
		running.Go(func() { end(d.follow(life)) })
	}
	for range b.callers {
		running.Go(func() { end(d.call(life)) })
	}
	one, err = source{count: d.count, cpu: cpu}.over(life, b.warm, b.window)
	end(nil)
	running.Wait()
	if err == nil && stores(c.subject) {
		err = d.settle(ctx)
	}
	return one, err
}

// pipeline is what is started for a cell, and what is to be removed after it.
func (b *bench) pipeline(ctx context.Context, c cell) (o stack.Options, ends []func() error, err error) {
	o.Program = b.wirelab
	if !stores(c.subject) {
		return o, nil, nil
	}
	o.Database = wirelab.DatabaseAddress{Kind: c.database}
	if c.database == "postgres" {
		o.Database.Source = b.database.DSN()
	} else {
		folder, err := os.MkdirTemp(b.files, "entries")
		if err != nil {
			return o, nil, err
		}
		ends = append(ends, func() error { return os.RemoveAll(folder) })
		o.Database.Source = filepath.Join(folder, "entries.db")
	}
	b.queues++
	direct := c.subject == subjectDirect
	q := queue.Options{
		Name: fmt.Sprintf("bench-%d", b.queues), Kind: queue.Kind(c.kind), Confirms: true, Persistent: true, Prefetch: b.prefetch,
	}
	o.Brokers = []stack.Broker{{Kind: stack.RabbitMQ, URL: b.server.URL(), Queue: q, Direct: direct}}
	names := []string{q.Name}
	if direct {
		names = append(names, q.Name+"-direct")
	}
	for _, name := range names {
		q.Name = name
		ends = append(ends, func() error { return b.control.Delete(context.WithoutCancel(ctx), q) })
	}
	return o, ends, nil
}

// door is a gateway as callers see it, and the logger behind as a reader does.
type door struct {
	*meter
	gateway string // host:port
	request []byte
	entries string // URL of the newest entry; "": nothing is stored
	before  int64  // its position when all began
	status  int    // of a good reply
}

func newDoor(s *stack.Stack, c cell, o options) (*door, error) {
	gateway, err := s.Part(stack.GatewayPart)
	if err != nil {
		return nil, err
	}
	logger, err := s.Part(stack.LoggerPart)
	if err != nil {
		return nil, err
	}
	d := &door{meter: newMeter(o.bound), gateway: gateway.Doors[stack.DoorHTTP], status: http.StatusAccepted}
	way, method, body := "/"+c.subject, http.MethodPost, ""
	if stores(c.subject) {
		d.entries = "http://" + logger.Doors[stack.DoorHTTP] + "/entries?limit=1"
		encoded, err := json.Marshal(map[string]any{"action": "log", "log": map[string]string{"name": "event", "data": filler(o.data)}})
		if err != nil {
			return nil, err
		}
		body = string(encoded)
	} else {
		way, method, d.status = "/ping", http.MethodGet, http.StatusOK
	}
	d.request = fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: %s\r\n", method, way, d.gateway)
	if body != "" {
		d.request = fmt.Appendf(d.request, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	d.request = append(append(d.request, "\r\n"...), body...)
	return d, nil
}

// call calls the gateway over one connection, one call after the other.
// net/http's client would take more CPU than the gateway.
func (d *door) call(ctx context.Context) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", d.gateway)
	if err != nil {
		return ended(ctx, err)
	}
	defer func() { _ = conn.Close() }() // all was read
	replies := bufio.NewReader(conn)
	for d.enter(ctx) {
		if _, err := conn.Write(d.request); err != nil {
			return err
		}
		status, err := readReply(replies)
		if err != nil {
			return err
		}
		if status != d.status {
			return fmt.Errorf("the gateway answers %d", status)
		}
		d.in.Add(1)
		if d.entries == "" {
			d.leave(1)
		}
	}
	return nil
}

// readReply reads a reply to its end and returns its status.
func readReply(from *bufio.Reader) (status int, err error) {
	length := -1
	for first := true; ; first = false {
		line, err := from.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		line = bytes.TrimSpace(line)
		switch name, value, _ := bytes.Cut(line, []byte(":")); {
		case first:
			if len(line) < len("HTTP/1.1 200") {
				return 0, errors.New("the gateway does not answer by HTTP/1.1")
			}
			if status, err = strconv.Atoi(string(line[9:12])); err != nil {
				return 0, err
			}
		case len(line) == 0:
			if length < 0 {
				return 0, errors.New("a reply without a length")
			}
			_, err := from.Discard(length)
			return status, err
		case strings.EqualFold(string(name), "Content-Length"):
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return 0, err
			}
		}
	}
}

// position is that of the newest entry, which counts how many were stored.
func (d *door) position(ctx context.Context) (int64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, d.entries, nil)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }() // likewise
	var page struct {
		Entries []struct{ Position int64 }
	}
	body, err := io.ReadAll(response.Body)
	if err == nil {
		err = json.Unmarshal(body, &page)
	}
	if err != nil || len(page.Entries) == 0 {
		return 0, err
	}
	return page.Entries[0].Position, nil
}

// count is how many entries the gateway confirmed and how many are stored.
func (d *door) count(ctx context.Context) (in, out int64, err error) {
	if d.entries == "" {
		return d.in.Load(), d.out.Load(), nil
	}
	out, err = d.position(ctx)
	return d.in.Load(), out - d.before, err
}

// look is how often it is looked at what is stored.
const look = 20 * time.Millisecond

// follow lets entries out that were stored.
func (d *door) follow(ctx context.Context) error {
	for pause(ctx, look) == nil {
		at, err := d.position(ctx)
		if err != nil {
			return ended(ctx, err)
		}
		// An entry may be stored before its caller has the reply, not before it entered.
		d.leave(int(at - d.before - d.out.Load()))
	}
	return nil
}

// settleLimit is how long what is under way may take when nobody calls any more.
const settleLimit = 30 * time.Second

// settle waits until all that was confirmed is stored: no more, no less.
func (d *door) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	for {
		in, out, err := d.count(ctx)
		if err != nil {
			return err
		}
		if in == out {
			return nil
		}
		if pause(ctx, look) != nil {
			return fmt.Errorf("%d entries were confirmed and %d are stored", in, out)
		}
	}
}
