package path

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"

	"wirelab"
	wiregrpc "wirelab/wire/grpc"
	"wirelab/workload/logging"
	"wirelab/workload/logging/gen"
)

// metadataRequestID is [HeaderRequestID] in the metadata of gRPC.
const metadataRequestID = "x-request-id"

// byGRPC calls WriteLog of gRPC over one connection.
type byGRPC struct {
	conn    *grpc.ClientConn
	stub    gen.LogServiceClient
	options Options
}

var _ Path = (*byGRPC)(nil)

// GRPC returns the path that calls LogService.WriteLog of the logger at host:port, without TLS. It connects at the
// first call.
func GRPC(address string, o Options) (Path, error) {
	conn, err := wiregrpc.Dial(wirelab.Dialing{Address: address}, false)
	if err != nil {
		return nil, err
	}
	return &byGRPC{conn: conn, stub: gen.NewLogServiceClient(conn), options: o}, nil
}

// Log implements [Path].
func (p *byGRPC) Log(ctx context.Context, entry logging.Entry) (Receipt, error) {
	ctx, cancel, err := p.options.begin(ctx, &entry)
	if err != nil {
		return Receipt{}, err
	}
	defer cancel()
	if id := requestID(ctx); id != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, metadataRequestID, id)
	}
	receipt := Receipt{ID: entry.ID, Written: time.Now()}
	_, err = p.stub.WriteLog(ctx, &gen.LogRequest{LogEntry: &gen.Log{Id: entry.ID, Name: entry.Name, Data: entry.Data}})
	if err != nil {
		return receipt, p.failed(ctx, err)
	}
	receipt.Confirmed = time.Now()
	return receipt, nil
}

// failed converts an error of grpc-go. If there is no connection, the message comes from the library and contains
// addresses, so it is replaced. Messages of the logger are kept.
func (p *byGRPC) failed(ctx context.Context, err error) error {
	coded := failed(ctx, wiregrpc.Decode(err), "")
	if wirelab.CodeOf(coded) == wirelab.Unavailable && p.conn.GetState() != connectivity.Ready {
		return wirelab.Errorf(wirelab.Unavailable, "the logger does not answer over gRPC")
	}
	return coded
}

// Check implements [Path] with the health service of gRPC. A logger without that service counts as available.
func (p *byGRPC) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, p.options.deadline())
	defer cancel()
	reply, err := grpc_health_v1.NewHealthClient(p.conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	if err != nil {
		err = p.failed(ctx, err)
		if wirelab.CodeOf(err) == wirelab.Unimplemented {
			return nil
		}
		return err
	}
	if reply.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		return wirelab.Errorf(wirelab.Unavailable, "the logger says over gRPC that it does not serve")
	}
	return nil
}

// Close implements [Path].
func (p *byGRPC) Close() error { return p.conn.Close() }
