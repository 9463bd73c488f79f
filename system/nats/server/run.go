// Package server is a NATS server with JetStream in this process: nats-server from
// its Go module, so that nothing has to be installed. [Run] runs one; [Serve] does so
// as the child of package nats, which starts it. It is a package apart because
// nats-server makes a program larger by nine megabytes: only the program wirelab-nats,
// and tests, hold it. It does not know what is sent through the server.
package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"wirelab"
	"wirelab/system/nats"
)

// The bounds of a server of ours, in bytes. Messages of 1 MiB have headers
// too, for which NATS's default of 1 MiB has no room; and a consumer that may
// have 64 of them must not be cut off as slow for them.
const (
	payloadLimit = 2 << 20
	pendingLimit = 256 << 20
)

// Version returns that of the server.
func Version() string { return server.VERSION }

// Run runs a server in this process until ctx ends, calls ready once it takes
// connections, and returns when it has ended. The URL holds the password: it is
// to be passed on by environment or input, never as an argument. What the server
// has to complain about goes to complaints, unless that is nil.
func Run(ctx context.Context, o nats.Options, complaints io.Writer, ready func(url string)) (err error) {
	o, remove, err := o.Complete()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	said := &words{to: complaints}
	so := &server.Options{
		ServerName: "wirelab", Host: o.Host, Port: o.Port,
		Username: nats.User, Password: o.Password,
		NoSigs: true, DisableJetStreamBanner: true,
		JetStream: true, StoreDir: o.Directory,
		// Streams in memory are refused: what they promise is not kept.
		JetStreamMaxMemory: 0, JetStreamMaxStore: o.StoreLimit,
		SyncAlways: o.SyncEvery == 0, SyncInterval: o.SyncEvery,
		MaxPayload: payloadLimit, MaxPending: pendingLimit,
	}
	if o.Certificate != "" {
		pair, err := tls.X509KeyPair([]byte(o.Certificate), []byte(o.Key))
		if err != nil {
			return fmt.Errorf("NATS server: its certificate: %w", err)
		}
		so.TLS, so.TLSConfig = true, &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair}}
	}
	if err := join(o.Member, so, o.Password); err != nil {
		return err
	}
	s, err := server.NewServer(so)
	if err != nil {
		return fmt.Errorf("NATS server: %w", err)
	}
	s.SetLoggerV2(said, false, false, false)
	var serving sync.WaitGroup
	defer serving.Wait()
	defer s.WaitForShutdown()
	defer s.Shutdown()
	serving.Go(s.Start)
	if err := await(ctx, s, said); err != nil {
		return fmt.Errorf("NATS server: %w%s", err, said.last())
	}
	ready(o.URL())
	<-ctx.Done()
	return nil
}

// join makes a server a member; a nil one leaves it alone.
func join(m *nats.Member, o *server.Options, password string) error {
	if m == nil {
		return nil
	}
	host, number, err := net.SplitHostPort(m.At)
	if err != nil {
		return err
	}
	port, err := strconv.Atoi(number)
	if err != nil {
		return err
	}
	o.ServerName = m.Name
	o.Cluster = server.ClusterOpts{
		Name: nats.ClusterName, Host: host, Port: port, Username: nats.User, Password: password,
		NoAdvertise: true, ConnectRetries: 1000, PoolSize: -1,
	}
	for _, at := range m.All {
		if at != m.At {
			o.Routes = append(o.Routes,
				&url.URL{Scheme: "nats-route", User: url.UserPassword(nats.User, password), Host: at})
		}
	}
	return nil
}

// await waits until the server takes connections.
func await(ctx context.Context, s *server.Server, said *words) error {
	for end := time.Now().Add(nats.StartLimit); ; {
		// It polls every 25 ms until its own limit, and knows no context.
		if s.ReadyForConnections(250 * time.Millisecond) {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if said.fatal() || time.Now().After(end) {
			return wirelab.Errorf(wirelab.Unavailable, "it takes no connections")
		}
	}
}

// words keeps what the server complains about, and passes it on. A notice for
// each stream or client is not kept.
type words struct {
	to io.Writer // nil: none

	mu   sync.Mutex // guards text and the writes
	text string     // the first fatal complaint, else the last
	dead bool       // there was a fatal one: the server's own program would have exited
}

func (w *words) say(fatal bool, format string, args []any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := strings.TrimSpace(fmt.Sprintf(format, args...))
	if !w.dead {
		w.text = text
	}
	w.dead = w.dead || fatal
	if w.to != nil {
		_, _ = fmt.Fprintf(w.to, "nats: %s\n", text) // where it cannot be said no one listens
	}
}

func (w *words) last() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.text == "" {
		return ""
	}
	return ": " + w.text
}

func (w *words) fatal() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dead
}

func (w *words) Warnf(format string, args ...any)  { w.say(false, format, args) }
func (w *words) Errorf(format string, args ...any) { w.say(false, format, args) }
func (w *words) Fatalf(format string, args ...any) { w.say(true, format, args) }
func (*words) Noticef(string, ...any)              {}
func (*words) Debugf(string, ...any)               {}
func (*words) Tracef(string, ...any)               {}
