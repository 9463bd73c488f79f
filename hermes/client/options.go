package client

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"time"

	"wirelab/hermes"
	"wirelab/wire/status"
)

// Options says how a client works. Only Addresses has no default.
type Options struct {
	// Addresses are gRPC APIs of nodes, host:port; one is enough, more help to begin with. Others are learnt from
	// the node that answers.
	Addresses []string
	// TLS: nil is plaintext.
	TLS *tls.Config
	// Token is shown to every node, as "authorization: Bearer"; "": none. Without TLS anyone who is on the way can
	// read it.
	Token string
	// Linger is how long a message may wait for others, though it could be sent.
	Linger time.Duration
	// RunMessages and RunBytes bound a run. 0: 1024 messages, 256 KiB; at most
	// hermes.RunMessages and hermes.RunLimit.
	RunMessages, RunBytes int
	// InFlight is how many runs of a topic and a mode are on their way at once, 1 to
	// hermes.ProducerRuns; 0: 4.
	InFlight int
	// Buffer is how many bytes of messages may be with the client, unanswered; past it a
	// publish waits. 0: 32 MiB.
	Buffer int
	// RetryFor is how long a publish, or the search for a node, is tried again. 0: 30 s.
	RetryFor time.Duration
	// Patience is how long a node may owe all answers, or the beginning of a stream, before
	// another is tried: one that hangs keeps its connections. 0: 5 s.
	Patience time.Duration
	// AheadMessages and AheadBytes are what a subscription takes ahead of its reader.
	// 0: 4096 messages, 4 MiB.
	AheadMessages, AheadBytes int
	// Connect opens connections; nil: net.Dialer.
	Connect func(ctx context.Context, address string) (net.Conn, error)
	// Logger is notified of connections, never of messages. nil: nothing.
	Logger *slog.Logger
}

// withDefaults returns o with its defaults, or InvalidArgument.
func (o Options) withDefaults() (Options, error) {
	if len(o.Addresses) == 0 {
		return o, status.Errorf(status.InvalidArgument, "no address: name at least one node as host:port")
	}
	for _, n := range []struct {
		name         string
		value        *int
		normal, most int
	}{
		{"RunMessages", &o.RunMessages, 1024, hermes.RunMessages},
		{"RunBytes", &o.RunBytes, 256 << 10, hermes.RunLimit},
		{"InFlight", &o.InFlight, 4, hermes.ProducerRuns},
		{"Buffer", &o.Buffer, 32 << 20, 1 << 40},
		{"AheadMessages", &o.AheadMessages, 4096, 1 << 30},
		{"AheadBytes", &o.AheadBytes, 4 << 20, 1 << 40},
	} {
		if *n.value < 0 || *n.value > n.most {
			return o, status.Errorf(status.InvalidArgument, "%s is %d; 0 to %d are allowed", n.name, *n.value, n.most)
		}
		if *n.value == 0 {
			*n.value = n.normal
		}
	}
	if o.Linger < 0 || o.RetryFor < 0 || o.Patience < 0 {
		return o, status.Errorf(status.InvalidArgument, "Linger, RetryFor and Patience must not be negative")
	}
	if o.Patience == 0 {
		o.Patience = 5 * time.Second
	}
	if o.RetryFor == 0 {
		o.RetryFor = 30 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, nil
}
