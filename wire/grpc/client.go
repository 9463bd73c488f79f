package grpc

import (
	"context"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"wirelab/wire/endpoint"
	"wirelab/wire/status"
)

// MaxMessage is the largest message that either end sends or takes, in bytes; grpc-go's own default is 4 MiB of
// received data, and anything sent.
const MaxMessage = endpoint.MessageLimit

// reconnect is how long a client waits between attempts to connect.
var reconnect = grpc.ConnectParams{
	Backoff: backoff.Config{
		BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second,
	},
	MinConnectTimeout: 5 * time.Second,
}

// Dial returns a grpc-go connection set up as the package comment says. It
// connects at the first call. Closing it ends its calls with Canceled.
func Dial(to endpoint.Dialing, secure bool, more ...grpc.DialOption) (*grpc.ClientConn, error) {
	trust := insecure.NewCredentials()
	if secure {
		trust = credentials.NewTLS(to.TLS())
	}
	// passthrough: the address is the caller's to resolve, since the caller
	// opens the connection; and its host is the name that TLS checks.
	conn, err := grpc.NewClient("passthrough:///"+to.Address, append([]grpc.DialOption{
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return to.Open(ctx) }),
		grpc.WithTransportCredentials(trust),
		grpc.WithDisableRetry(),
		grpc.WithDisableServiceConfig(),
		grpc.WithConnectParams(reconnect),
		grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(MaxMessage),
			grpc.MaxCallSendMsgSize(MaxMessage),
		),
	}, more...)...)
	if err != nil {
		return nil, status.Errorf(status.InvalidArgument, "address %q: %v", to.Address, err)
	}
	return conn, nil
}
