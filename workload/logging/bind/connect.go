package bind

import (
	"context"

	"connectrpc.com/connect"

	"wirelab"
	wireconnect "wirelab/wire/connect"
	"wirelab/workload/logging"
	"wirelab/workload/logging/gen"
	"wirelab/workload/logging/gen/genconnect"
)

// Connect carries the logger over the Connect protocol on HTTP/2 in plaintext.
func Connect() wirelab.Binding[logging.Service] {
	return rpc().OverConnect(wireconnect.Protocol())
}

// ConnectHTTP1 carries the logger over the Connect protocol on HTTP/1.1.
func ConnectHTTP1() wirelab.Binding[logging.Service] {
	return rpc().OverConnect(wireconnect.ProtocolHTTP1())
}

// connectServer answers for service through connect-go, whichever protocol the call came by.
type connectServer struct{ service logging.Service }

var (
	_ genconnect.LogServiceHandler   = connectServer{}
	_ genconnect.EntryServiceHandler = connectServer{}
)

// WriteLog implements [genconnect.LogServiceHandler].
func (s connectServer) WriteLog(
	ctx context.Context, request *connect.Request[gen.LogRequest],
) (*connect.Response[gen.LogResponse], error) {
	entry, err := entryFromProto(request.Msg)
	if err != nil {
		return nil, wireconnect.Encode(err)
	}
	written, err := s.service.WriteLog(ctx, entry)
	if err != nil {
		return nil, wireconnect.Encode(err)
	}
	return connect.NewResponse(writtenToProto(written)), nil
}

// GetEntry implements [genconnect.EntryServiceHandler].
func (s connectServer) GetEntry(
	ctx context.Context, id *connect.Request[gen.GetEntryRequest],
) (*connect.Response[gen.StoredEntry], error) {
	stored, err := s.service.GetEntry(ctx, idFromProto(id.Msg))
	if err != nil {
		return nil, wireconnect.Encode(err)
	}
	return connect.NewResponse(storedToProto(stored)), nil
}

// ListEntries implements [genconnect.EntryServiceHandler].
func (s connectServer) ListEntries(
	ctx context.Context, request *connect.Request[gen.ListEntriesRequest],
) (*connect.Response[gen.ListEntriesResponse], error) {
	query, err := queryFromProto(request.Msg)
	if err != nil {
		return nil, wireconnect.Encode(err)
	}
	list, err := s.service.ListEntries(ctx, query)
	if err != nil {
		return nil, wireconnect.Encode(err)
	}
	return connect.NewResponse(listToProto(list)), nil
}

// DeleteEntries implements [genconnect.EntryServiceHandler].
func (s connectServer) DeleteEntries(
	ctx context.Context, request *connect.Request[gen.DeleteEntriesRequest],
) (*connect.Response[gen.DeleteEntriesResponse], error) {
	retention, err := retentionFromProto(request.Msg)
	if err != nil {
		return nil, wireconnect.Encode(err)
	}
	deleted, err := s.service.DeleteEntries(ctx, retention)
	if err != nil {
		return nil, wireconnect.Encode(err)
	}
	return connect.NewResponse(deletedToProto(deleted)), nil
}

// connectCalls makes the calls through connect-go.
type connectCalls struct {
	log     genconnect.LogServiceClient
	entries genconnect.EntryServiceClient
}

var _ logging.Service = connectCalls{}

// WriteLog implements [logging.Service].
func (s connectCalls) WriteLog(ctx context.Context, entry logging.Entry) (logging.Written, error) {
	written, err := s.log.WriteLog(ctx, connect.NewRequest(entryToProto(entry)))
	if err != nil {
		return logging.Written{}, wireconnect.Decode(err)
	}
	return writtenFromProto(written.Msg), nil
}

// GetEntry implements [logging.Service].
func (s connectCalls) GetEntry(ctx context.Context, id logging.EntryID) (logging.Stored, error) {
	stored, err := s.entries.GetEntry(ctx, connect.NewRequest(idToProto(id)))
	if err != nil {
		return logging.Stored{}, wireconnect.Decode(err)
	}
	return read(storedFromProto(stored.Msg))
}

// ListEntries implements [logging.Service].
func (s connectCalls) ListEntries(ctx context.Context, query logging.Query) (logging.EntryList, error) {
	list, err := s.entries.ListEntries(ctx, connect.NewRequest(queryToProto(query)))
	if err != nil {
		return logging.EntryList{}, wireconnect.Decode(err)
	}
	return read(listFromProto(list.Msg))
}

// DeleteEntries implements [logging.Service].
func (s connectCalls) DeleteEntries(ctx context.Context, retention logging.Retention) (logging.Deleted, error) {
	deleted, err := s.entries.DeleteEntries(ctx, connect.NewRequest(retentionToProto(retention)))
	if err != nil {
		return logging.Deleted{}, wireconnect.Decode(err)
	}
	return deletedFromProto(deleted.Msg), nil
}
