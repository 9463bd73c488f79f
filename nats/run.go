// Package nats holds a NATS server of our own with JetStream: nats-server from
// its Go module, so that nothing has to be installed. [Run] is the server in this
// process; [Start] holds one in a child process, which can be killed, accounted
// for and restarted, and whose side of it is [Serve]. It knows addresses and
// directories; what is sent through it, and who its clients are, it does not.
package nats

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"wirelab"
	"wirelab/daemon"
	"wirelab/place"
)

// Options say how a server runs. The zero value is one with a temporary
// directory, that has a message on disk before it acknowledges it.
type Options struct {
	// Directory keeps the streams, over restarts too; "": a temporary one,
	// removed at the end.
	Directory string `json:"directory,omitempty"`
	// Parent is where a temporary one is made; "": the system's place for such.
	Parent string `json:"parent,omitempty"`
	// Host is the address to listen at; "": 127.0.0.1. Port is there; 0: a free one.
	Host string `json:"host,omitempty"`
	Port int    `json:"port,omitempty"`
	// Hosts are those of a cluster's servers; nil: all at 127.0.0.1. See [StartCluster].
	Hosts []place.Host `json:"-"`
	// Password of the user "wirelab"; "": a random one.
	Password string `json:"password,omitempty"`
	// SyncEvery is how often what was written is brought to the disk by fsync.
	// 0: before every acknowledgement, so that confirmed messages outlive a power
	// cut; else confirmed ones outlive this process, but only older ones the power
	// cut. NATS's own default is two minutes.
	SyncEvery time.Duration `json:"sync_every,omitempty"`
	// StoreLimit is how much the streams may hold, in bytes; 0: 16 GiB. What is
	// published beyond that is refused.
	StoreLimit int64 `json:"store_limit,omitempty"`
	// Member is this server's place in a cluster; nil: it is alone. [StartCluster]
	// sets it.
	Member *Member `json:"member,omitempty"`
}

// Member is a server's place in a cluster: its name, where other members reach it, and
// where it reaches all of them, each as host:port.
type Member struct {
	Name string   `json:"name"`
	At   string   `json:"at"`
	All  []string `json:"all"`
}

// user is the only one there is.
const user = "wirelab"

const localhost = "127.0.0.1"

// The bounds of a server of ours, in bytes. Messages of 1 MiB have headers
// beside, for which NATS's default of 1 MiB has no room; and a consumer that may
// have 64 of them must not be cut off as slow for them.
const (
	payloadLimit = 2 << 20
	pendingLimit = 256 << 20
	storeLimit   = 16 << 30
)

// startLimit is the longest that a server may take to be ready, the reading of
// what it kept included.
const startLimit = 60 * time.Second

// Version returns that of the server.
func Version() string { return server.VERSION }

// url returns a server's URL, which holds its password.
func (o Options) url() string {
	u := url.URL{Scheme: "nats", User: url.UserPassword(user, o.Password), Host: o.address()}
	return u.String()
}

// address is where the server listens.
func (o Options) address() string { return net.JoinHostPort(o.Host, strconv.Itoa(o.Port)) }

// Run runs a server in this process until ctx ends, calls ready once it takes
// connections, and returns when it has ended. The URL holds the password: it is
// to be passed on by environment or input, never as an argument. What the server
// has to complain about goes to complaints, unless that is nil.
func Run(ctx context.Context, o Options, complaints io.Writer, ready func(url string)) (err error) {
	o, remove, err := complete(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	said := &words{to: complaints}
	so := &server.Options{
		ServerName: "wirelab", Host: o.Host, Port: o.Port,
		Username: user, Password: o.Password,
		NoSigs: true, DisableJetStreamBanner: true,
		JetStream: true, StoreDir: o.Directory,
		// Streams in memory are refused: what they promise is not kept.
		JetStreamMaxMemory: 0, JetStreamMaxStore: o.StoreLimit,
		SyncAlways: o.SyncEvery == 0, SyncInterval: o.SyncEvery,
		MaxPayload: payloadLimit, MaxPending: pendingLimit,
	}
	if err := o.Member.join(so, o.Password); err != nil {
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
	ready(o.url())
	<-ctx.Done()
	return nil
}

// complete puts values in place of zero ones. Remove is for the end.
func complete(o Options) (whole Options, remove func() error, err error) {
	remove = func() error { return nil }
	if o.Port < 0 || o.Port > 65_535 || o.StoreLimit < 0 || o.SyncEvery < 0 {
		return o, remove, wirelab.Errorf(wirelab.InvalidArgument, "a NATS server with port %d, store limit %d, sync every %v", o.Port, o.StoreLimit, o.SyncEvery)
	}
	if o.StoreLimit == 0 {
		o.StoreLimit = storeLimit
	}
	if o.Password == "" {
		o.Password = password()
	}
	if o.Host == "" {
		o.Host = localhost
	}
	if o.Port == 0 {
		if o.Port, err = daemon.FreePort(); err != nil {
			return o, remove, err
		}
	}
	if o.Directory == "" {
		if o.Parent == "" {
			o.Parent = os.TempDir()
		}
		d, owned, err := makeDirectory(o.Parent)
		if err != nil {
			return o, remove, fmt.Errorf("a directory for NATS: %w", err)
		}
		o.Directory = d
		remove = func() error { return errors.Join(os.RemoveAll(d), owned.Close()) }
	}
	return o, remove, nil
}

// await waits until the server takes connections.
func await(ctx context.Context, s *server.Server, said *words) error {
	for end := time.Now().Add(startLimit); ; {
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
	to io.Writer // nil: nobody

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
		_, _ = fmt.Fprintf(w.to, "nats: %s\n", text) // where it cannot be said nobody listens
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
