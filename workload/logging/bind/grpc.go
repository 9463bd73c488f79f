package bind

import (
	"context"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/grpc"

	"wirelab"
	wireconnect "wirelab/wire/connect"
	wiregrpc "wirelab/wire/grpc"
	"wirelab/wire/grpcbind"
	"wirelab/workload/logging"
	"wirelab/workload/logging/gen"
	"wirelab/workload/logging/gen/genconnect"
)

// GRPC carries the logger over gRPC in plaintext; LogService is the published one.
func GRPC() wirelab.Binding[logging.Service] {
	return rpc().OverGRPC(wiregrpc.Protocol(false))
}

// GRPCTLS is [GRPC] over TLS 1.3.
func GRPCTLS() wirelab.Binding[logging.Service] {
	return rpc().OverGRPC(wiregrpc.Protocol(true))
}

// rpc is the logger on gRPC and Connect, in protobuf.
func rpc() grpcbind.Service[logging.Service] {
	return grpcbind.Service[logging.Service]{
		Names: []string{genconnect.LogServiceName, genconnect.EntryServiceName},
		Register: func(to grpc.ServiceRegistrar, service logging.Service) {
			gen.RegisterLogServiceServer(to, grpcLog{service: service})
			gen.RegisterEntryServiceServer(to, grpcEntries{service: service})
		},
		Handle: func(mux *http.ServeMux, service logging.Service) {
			mux.Handle(genconnect.NewLogServiceHandler(connectServer{service}, wireconnect.HandlerOptions()...))
			mux.Handle(genconnect.NewEntryServiceHandler(connectServer{service}, wireconnect.HandlerOptions()...))
		},
		GRPC: func(conn *grpc.ClientConn) logging.Service {
			return stub{grpcCalls{gen.NewLogServiceClient(conn), gen.NewEntryServiceClient(conn)}}
		},
		Connect: func(client connect.HTTPClient, url string, speak ...connect.ClientOption) logging.Service {
			options := append(wireconnect.ClientOptions(), speak...)
			return stub{connectCalls{
				genconnect.NewLogServiceClient(client, url, options...), genconnect.NewEntryServiceClient(client, url, options...),
			}}
		},
		RawHoles: rawHoles(), Fresh: []string{genconnect.LogServiceWriteLogProcedure},
	}
}

// grpcLog answers for service through grpc-go, as the published LogService.
type grpcLog struct {
	gen.UnimplementedLogServiceServer
	service logging.Service
}

// WriteLog implements [gen.LogServiceServer].
func (s grpcLog) WriteLog(ctx context.Context, request *gen.LogRequest) (*gen.LogResponse, error) {
	entry, err := entryFromProto(request)
	if err != nil {
		return nil, wiregrpc.Encode(err)
	}
	written, err := s.service.WriteLog(ctx, entry)
	if err != nil {
		return nil, wiregrpc.Encode(err)
	}
	return writtenToProto(written), nil
}

// grpcEntries answers for service through grpc-go what the published one had not.
type grpcEntries struct {
	gen.UnimplementedEntryServiceServer
	service logging.Service
}

// GetEntry implements [gen.EntryServiceServer].
func (s grpcEntries) GetEntry(ctx context.Context, id *gen.GetEntryRequest) (*gen.StoredEntry, error) {
	stored, err := s.service.GetEntry(ctx, idFromProto(id))
	if err != nil {
		return nil, wiregrpc.Encode(err)
	}
	return storedToProto(stored), nil
}

// ListEntries implements [gen.EntryServiceServer].
func (s grpcEntries) ListEntries(ctx context.Context, request *gen.ListEntriesRequest) (*gen.ListEntriesResponse, error) {
	query, err := queryFromProto(request)
	if err != nil {
		return nil, wiregrpc.Encode(err)
	}
	list, err := s.service.ListEntries(ctx, query)
	if err != nil {
		return nil, wiregrpc.Encode(err)
	}
	return listToProto(list), nil
}

// DeleteEntries implements [gen.EntryServiceServer].
func (s grpcEntries) DeleteEntries(ctx context.Context, request *gen.DeleteEntriesRequest) (*gen.DeleteEntriesResponse, error) {
	retention, err := retentionFromProto(request)
	if err != nil {
		return nil, wiregrpc.Encode(err)
	}
	deleted, err := s.service.DeleteEntries(ctx, retention)
	if err != nil {
		return nil, wiregrpc.Encode(err)
	}
	return deletedToProto(deleted), nil
}

// grpcCalls makes the calls through grpc-go.
type grpcCalls struct {
	log     gen.LogServiceClient
	entries gen.EntryServiceClient
}

var _ logging.Service = grpcCalls{}

// WriteLog implements [logging.Service].
func (s grpcCalls) WriteLog(ctx context.Context, entry logging.Entry) (logging.Written, error) {
	written, err := s.log.WriteLog(ctx, entryToProto(entry))
	if err != nil {
		return logging.Written{}, wiregrpc.Decode(err)
	}
	return writtenFromProto(written), nil
}

// GetEntry implements [logging.Service].
func (s grpcCalls) GetEntry(ctx context.Context, id logging.EntryID) (logging.Stored, error) {
	stored, err := s.entries.GetEntry(ctx, idToProto(id))
	if err != nil {
		return logging.Stored{}, wiregrpc.Decode(err)
	}
	return read(storedFromProto(stored))
}

// ListEntries implements [logging.Service].
func (s grpcCalls) ListEntries(ctx context.Context, query logging.Query) (logging.EntryList, error) {
	list, err := s.entries.ListEntries(ctx, queryToProto(query))
	if err != nil {
		return logging.EntryList{}, wiregrpc.Decode(err)
	}
	return read(listFromProto(list))
}

// DeleteEntries implements [logging.Service].
func (s grpcCalls) DeleteEntries(ctx context.Context, retention logging.Retention) (logging.Deleted, error) {
	deleted, err := s.entries.DeleteEntries(ctx, retentionToProto(retention))
	if err != nil {
		return logging.Deleted{}, wiregrpc.Decode(err)
	}
	return deletedFromProto(deleted), nil
}
