package bind

import (
	"context"
	"io"

	"wirelab"
	"wirelab/wire/netrpc"
	"wirelab/workload/logging"
)

// netrpcName is the name of the service, as net/rpc's clients say it.
const netrpcName = "Logging"

// NetRPC carries the logger over net/rpc, in gob of the domain's own types,
// which is how net/rpc is used: their fields' names are on the wire. The
// published service, RPCServer, stands beside ours on the same server.
func NetRPC() wirelab.Binding[logging.Service] {
	return wirelab.Binding[logging.Service]{
		Protocol: netrpc.Protocol(),
		Style:    wirelab.Idiomatic,
		Servers: []wirelab.Server[logging.Service]{{
			Library: "net/rpc",
			Serve: func(ctx context.Context, at wirelab.Endpoint, service logging.Service) error {
				return netrpc.Serve(ctx, at, netrpcName, &netrpcServer{service}, publishedRPC(service))
			},
		}},
		Clients: []wirelab.Dialer[logging.Service]{{
			Library: "net/rpc",
			Dial: func(_ context.Context, to wirelab.Dialing) (logging.Service, io.Closer, error) {
				client := netrpc.Dial(to)
				return stub{&functions{
					writeLog:      rpcCall[logging.Entry, logging.Written](client, "WriteLog"),
					getEntry:      rpcCall[logging.EntryID, logging.Stored](client, "GetEntry"),
					listEntries:   rpcCall[logging.Query, logging.EntryList](client, "ListEntries"),
					deleteEntries: rpcCall[logging.Retention, logging.Deleted](client, "DeleteEntries"),
				}}, client, nil
			},
		}},
	}
}

// rpcCall makes the calls of a method.
func rpcCall[Req, Rep any](client *netrpc.Client, method string) func(context.Context, Req) (Rep, error) {
	return func(ctx context.Context, req Req) (Rep, error) {
		return netrpc.Call[Req, Rep](ctx, client, netrpcName+"."+method, req)
	}
}

// netrpcServer is the receiver whose methods net/rpc finds.
type netrpcServer struct{ service logging.Service }

// WriteLog is the method Logging.WriteLog.
func (s *netrpcServer) WriteLog(req *netrpc.Request[logging.Entry], rep *netrpc.Reply[logging.Written]) error {
	return netrpc.Answer(req, rep, s.service.WriteLog)
}

// GetEntry is the method Logging.GetEntry.
func (s *netrpcServer) GetEntry(req *netrpc.Request[logging.EntryID], rep *netrpc.Reply[logging.Stored]) error {
	return netrpc.Answer(req, rep, s.service.GetEntry)
}

// ListEntries is the method Logging.ListEntries.
func (s *netrpcServer) ListEntries(req *netrpc.Request[logging.Query], rep *netrpc.Reply[logging.EntryList]) error {
	return netrpc.Answer(req, rep, s.service.ListEntries)
}

// DeleteEntries is the method Logging.DeleteEntries.
func (s *netrpcServer) DeleteEntries(req *netrpc.Request[logging.Retention], rep *netrpc.Reply[logging.Deleted]) error {
	return netrpc.Answer(req, rep, s.service.DeleteEntries)
}
