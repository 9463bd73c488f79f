package path

import (
	"context"
	"errors"
	"net"
	"net/rpc"
	"strings"
	"time"

	"wirelab"
	"wirelab/wire/netrpc"
	"wirelab/workload/logging"
)

const (
	// MethodWriteLog is our method, whose failures have codes.
	MethodWriteLog = "Logging.WriteLog"
	// MethodLogInfo is the published method: ms-F22.
	MethodLogInfo = "RPCServer.LogInfo"
	// noRPC is the error message if the logger does not answer.
	noRPC = "the logger does not answer over net/rpc"
)

// RPCPayload is the argument of [MethodLogInfo]. The published one has no ID; gob skips fields that the other end
// does not know.
type RPCPayload struct{ Name, Data, ID string }

// byRPC uses net/rpc over one connection, which is reopened after it broke.
type byRPC struct {
	client  *netrpc.Client
	address string
	options Options
}

// RPC returns the path that calls the logger at host:port by net/rpc. It connects at its first call, and again
// after the connection broke.
func RPC(address string, o Options) Path {
	if o.AsPublished {
		return &rpcPerCall{address, o}
	}
	client := netrpc.Dial(wirelab.Dialing{Address: address, Connect: connect})
	return &byRPC{client: client, address: address, options: o}
}

// connect opens a connection. Its error is shown to callers, so it contains no address.
func connect(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, errors.New(noRPC)
	}
	return conn, nil
}

// Log implements [Path].
func (p *byRPC) Log(ctx context.Context, entry logging.Entry) (Receipt, error) {
	ctx, cancel, err := p.options.begin(ctx, &entry)
	if err != nil {
		return Receipt{}, err
	}
	defer cancel()
	receipt := Receipt{ID: entry.ID, Written: time.Now()}
	if _, err := netrpc.Call[logging.Entry, logging.Written](ctx, p.client, MethodWriteLog, entry); err != nil {
		return receipt, failed(ctx, err, noRPC)
	}
	receipt.Confirmed = time.Now()
	return receipt, nil
}

// Check implements [Path]. net/rpc has no health call, so this only connects.
func (p *byRPC) Check(ctx context.Context) error { return reach(ctx, p.address, p.options) }

// Close implements [Path].
func (p *byRPC) Close() error { return p.client.Close() }

// reach connects to an address and closes the connection.
func reach(ctx context.Context, address string, o Options) error {
	ctx, cancel := context.WithTimeout(ctx, o.deadline())
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return failed(ctx, err, noRPC)
	}
	_ = conn.Close() // nothing was written that could be lost
	return nil
}

// rpcPerCall is the published client: a connection for each call, and net/rpc of the standard library, whose errors
// are text.
type rpcPerCall struct {
	address string
	options Options
}

// Log implements [Path]. If no reply arrives, the error is Unavailable; see [refusal] for the errors of the logger.
func (p *rpcPerCall) Log(ctx context.Context, entry logging.Entry) (Receipt, error) {
	ctx, cancel, err := p.options.begin(ctx, &entry)
	if err != nil {
		return Receipt{}, err
	}
	defer cancel()
	receipt := Receipt{ID: entry.ID, Written: time.Now()}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", p.address)
	if err != nil {
		return receipt, failed(ctx, err, noRPC)
	}
	client := rpc.NewClient(conn)
	defer func() { _ = client.Close() }() // the call has ended, with or without an error
	var told string
	call := client.Go(MethodLogInfo, RPCPayload{Name: entry.Name, Data: entry.Data, ID: entry.ID}, &told,
		make(chan *rpc.Call, 1))
	select {
	case <-call.Done:
	case <-ctx.Done():
		return receipt, wirelab.Public(ctx.Err())
	}
	var refused rpc.ServerError
	switch {
	case errors.As(call.Error, &refused):
		return receipt, refusal(refused)
	case call.Error != nil:
		return receipt, failed(ctx, call.Error, noRPC)
	}
	receipt.Confirmed = time.Now()
	return receipt, nil
}

// refusal parses the error text of the published method. net/rpc carries text only. Texts of our logger begin with
// the code: that is the wire format of this method, not a message for people. Without it an unavailable database
// would look like a fault of the gateway, with status 500. Any other text is Internal.
func refusal(said rpc.ServerError) error {
	name, message, coded := strings.Cut(string(said), ": ")
	if code, known := wirelab.ParseCode(name); known && coded {
		return wirelab.Errorf(code, "%s", message)
	}
	return wirelab.Errorf(wirelab.Internal, "%s", said)
}

// Check implements [Path].
func (p *rpcPerCall) Check(ctx context.Context) error { return reach(ctx, p.address, p.options) }

// Close implements [Path]. Nothing outlives a call.
func (*rpcPerCall) Close() error { return nil }

var (
	_ Path = (*byRPC)(nil)
	_ Path = (*rpcPerCall)(nil)
)
