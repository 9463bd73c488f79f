package bind

import (
	"context"

	"wirelab"
	"wirelab/wire/netrpc"
	"wirelab/wire/panics"
	"wirelab/workload/logging"
)

// publishedRPC is the published service on net/rpc (docs/origins.md ms-F22).
func publishedRPC(service logging.Service) netrpc.Beside {
	return netrpc.Beside{Name: "RPCServer", Receiver: &rpcServer{service}}
}

// RPCPayload is the argument of RPCServer.LogInfo. ID is ours: the published
// clients send none, and so each of their calls stores an entry. The time that
// its caller has left is not in it.
type RPCPayload struct {
	Name, Data, ID string

	ctx context.Context // the call's
}

var _ netrpc.Admitted = (*RPCPayload)(nil)

// Admit implements [netrpc.Admitted].
func (p *RPCPayload) Admit(ctx context.Context) { p.ctx = ctx }

// rpcServer is the receiver of the published service.
type rpcServer struct{ service logging.Service }

// LogInfo is the method RPCServer.LogInfo. A failure is its text alone, which is
// all that net/rpc carries: who must tell one from another calls
// Logging.WriteLog. A panic is a failure like any other (ms-D01).
func (s *rpcServer) LogInfo(payload *RPCPayload, said *string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panics.Error(payload.ctx, p)
		}
	}()
	entry := logging.Entry{ID: payload.ID, Name: payload.Name, Data: payload.Data}
	if _, err := s.service.WriteLog(payload.ctx, entry); err != nil {
		return wirelab.Public(err)
	}
	*said = "logged over net/rpc: " + payload.Name
	return nil
}
