package grpc

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"

	"wirelab/hermes/access"
	"wirelab/hermes/api/intake"
	"wirelab/hermes/broker"
	"wirelab/hermes/frame"
	pb "wirelab/hermes/gen"
	"wirelab/hermes/gen/origin"
	"wirelab/wire/endpoint"
	wiregrpc "wirelab/wire/grpc"
	"wirelab/wire/status"
)

// LeaderHint is the header that names the leader's gRPC API, where another node answers.
const LeaderHint = "x-leader-hint"

// Options says what an API lets in.
type Options struct {
	// Secure is TLS, with the endpoint's certificate.
	Secure bool
	// ClientRoots: Secure clients must show a certificate of these; nil: none is asked for.
	ClientRoots *x509.CertPool
	// Subscriptions bounds those that are open at once; one more is ResourceExhausted. 0: 10,000.
	Subscriptions int
	// NoOrigin leaves the origin's BrokerService away.
	NoOrigin bool
	// Access says whose token lets in; nil: every caller is. What the broker lets them do it decides itself: see
	// access.Wrap.
	Access *access.Policy
	// Ready tells why the node is not worth sending callers; health says so for every service, at most
	// some seconds late. nil: it always is.
	Ready func(ctx context.Context) error
	// TLS goes before Secure, ClientRoots and the endpoint's certificate: see access.ServerTLS.
	TLS *tls.Config
	// Intake bounds the bytes of requests under way; nil: its own. All APIs of a node share one.
	Intake *intake.Intake
}

// callWorkers are goroutines that wait for calls; one more call than these has its own goroutine, and a stream
// keeps one. A goroutine that is new begins with a small stack and copies it three times on its way into the
// broker, which was a tenth of the CPU that a publish costs a leader.
const callWorkers = 256

const (
	greetingTime = 10 * time.Second
	idleTime     = 5 * time.Minute
	headerLimit  = 32 << 10 // bytes of a call's headers; a token has some 80
	windowBytes  = 1 << 20
	beyond       = 64 << 10 // bytes of a message past the limit that grpc-go takes, for a handler to refuse
)

// api is the services of one node.
type api struct {
	broker        broker.Broker
	intake        *intake.Intake
	self          uint64          // this node's id; 0: not known
	stop          context.Context //nolint:containedctx // its end is the server's, which all streams heed
	readers       sync.WaitGroup  // those that read a stream, which end after their handlers
	subscriptions atomic.Int64
	most          int64 // of subscriptions
}

// Serve serves a node until ctx ends: then streams end with Unavailable, once what was
// read of them is answered, and calls have the endpoint's drain time. It follows the contract of
// package endpoint.
func Serve(ctx context.Context, at endpoint.Endpoint, b broker.Broker, o Options) error {
	if o.Intake == nil {
		o.Intake = intake.New(intake.Options{})
	}
	d := &api{broker: b, intake: o.Intake, stop: ctx, most: int64(o.Subscriptions)}
	if d.most <= 0 {
		d.most = 10_000
	}
	if status, err := b.Status(ctx); err == nil {
		d.self = status.Node
	} // else it hints at itself too, which costs a client a comparison
	more, err := o.server(at)
	if err != nil {
		return err
	}
	defer d.readers.Wait()
	return wiregrpc.Serve(ctx, at, false, "", func(s grpc.ServiceRegistrar) {
		s.RegisterService(describe(&pb.Hermes_ServiceDesc, hermesMethods, hermesStreams), d)
		s.RegisterService(describe(&pb.Admin_ServiceDesc, adminMethods, adminStreams), d)
		if !o.NoOrigin {
			s.RegisterService(describe(&origin.BrokerService_ServiceDesc, originMethods, originStreams), d)
		}
		if o.Ready != nil {
			services := []string{pb.Hermes_ServiceDesc.ServiceName, pb.Admin_ServiceDesc.ServiceName}
			if !o.NoOrigin {
				services = append(services, origin.BrokerService_ServiceDesc.ServiceName)
			}
			d.registerHealth(s, services, o.Ready)
		}
	}, more...)
}

// server is how grpc-go is set up beyond package wire/grpc.
func (o Options) server(at endpoint.Endpoint) ([]grpc.ServerOption, error) {
	more := []grpc.ServerOption{
		grpc.ForceServerCodecV2(frame.Codec{}),
		grpc.MaxRecvMsgSize(frame.Limit + beyond),
		grpc.MaxSendMsgSize(frame.Limit),
		grpc.NumStreamWorkers(callWorkers),
		grpc.MaxHeaderListSize(headerLimit),
		// Of a stream whose handler waits, so much may lie unread, which nothing else counts.
		grpc.StaticStreamWindowSize(windowBytes),
		// With its own window a stream's does not grow, and neither does the connection's: that would stay at the 64
		// KiB that HTTP/2 begins with, below what a client has under way.
		grpc.StaticConnWindowSize(2 * windowBytes),
		// TLS, the preface and the first settings: grpc-go itself gives them two minutes.
		grpc.ConnectionTimeout(greetingTime),
		// A subscriber may have nothing to say for hours; one that is gone is noticed. A connection without any
		// call ends: a client makes another one when it has something to ask.
		grpc.KeepaliveParams(keepalive.ServerParameters{
			Time: 20 * time.Second, Timeout: 10 * time.Second, MaxConnectionIdle: idleTime,
		}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{
			MinTime:             5 * time.Second,
			PermitWithoutStream: true,
		}),
	}
	more = append(more, o.guards()...)
	secure, err := o.credentials(at)
	return append(more, grpc.Creds(metered{secure, o.Intake})), err
}

// credentials are the TLS of the API, or none.
func (o Options) credentials(at endpoint.Endpoint) (credentials.TransportCredentials, error) {
	switch {
	case o.TLS != nil:
		return credentials.NewTLS(o.TLS), nil
	case !o.Secure && o.ClientRoots == nil:
		return insecure.NewCredentials(), nil
	case !o.Secure || at.Certificate == nil && o.ClientRoots != nil:
		return nil, status.Errorf(status.InvalidArgument,
			"clients can show certificates only to an API with TLS: give it a certificate")
	case at.Certificate == nil:
		return nil, status.Errorf(status.InvalidArgument, "gRPC over TLS needs a certificate")
	}
	config := &tls.Config{Certificates: []tls.Certificate{*at.Certificate}, MinVersion: tls.VersionTLS13}
	if o.ClientRoots != nil {
		config.ClientCAs, config.ClientAuth = o.ClientRoots, tls.RequireAndVerifyClientCert
	}
	return credentials.NewTLS(config), nil
}

// hint is the address of the leader's API, or "" where this node leads or none does.
func (d *api) hint() string {
	leader, ok := d.broker.Leader()
	if !ok || leader.ID == d.self {
		return ""
	}
	return leader.GRPC
}

// hinted is the header of an answer.
func (d *api) hinted() metadata.MD {
	if at := d.hint(); at != "" {
		return metadata.Pairs(LeaderHint, at)
	}
	return nil
}

var errStopping = status.Errorf(status.Unavailable, "the node is stopping: go on at another")
