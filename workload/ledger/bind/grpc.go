package bind

import (
	"context"
	"iter"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/grpc"

	"wirelab"
	wireconnect "wirelab/wire/connect"
	wiregrpc "wirelab/wire/grpc"
	"wirelab/wire/grpcbind"
	"wirelab/wire/stream"
	"wirelab/workload/ledger"
	"wirelab/workload/ledger/gen"
	"wirelab/workload/ledger/gen/genconnect"
)

// GRPC carries the ledger over gRPC in plaintext, under the paths and the
// messages that clients of the published service know (grb-F01 to F04).
func GRPC() wirelab.Binding[ledger.Service] {
	return rpc().OverGRPC(wiregrpc.Protocol(false))
}

// GRPCTLS is [GRPC] over TLS 1.3.
func GRPCTLS() wirelab.Binding[ledger.Service] {
	return rpc().OverGRPC(wiregrpc.Protocol(true))
}

// rpc is the ledger on gRPC and Connect, in protobuf.
func rpc() grpcbind.Service[ledger.Service] {
	return grpcbind.Service[ledger.Service]{
		Names: rpcNames(),
		Register: func(to grpc.ServiceRegistrar, service ledger.Service) {
			server := grpcServer{service: service}
			gen.RegisterBalanceServiceServer(to, server)
			gen.RegisterTransactionServiceServer(to, server)
			gen.RegisterLedgerServiceServer(to, server)
		},
		Handle: func(mux *http.ServeMux, service ledger.Service) {
			server, options := connectServer{service}, wireconnect.HandlerOptions()
			mux.Handle(genconnect.NewBalanceServiceHandler(server, options...))
			mux.Handle(genconnect.NewTransactionServiceHandler(server, options...))
			mux.Handle(genconnect.NewLedgerServiceHandler(server, options...))
		},
		GRPC: func(conn *grpc.ClientConn) ledger.Service { return stub{newGRPCCalls(conn)} },
		Connect: func(client connect.HTTPClient, url string, speak ...connect.ClientOption) ledger.Service {
			return stub{newConnectCalls(client, url, append(wireconnect.ClientOptions(), speak...)...)}
		},
		RawHoles: rawHoles(), Fresh: rpcFresh(),
	}
}

// rpcNames are the services of gRPC that the ledger is.
func rpcNames() []string {
	return []string{genconnect.BalanceServiceName, genconnect.TransactionServiceName, genconnect.LedgerServiceName}
}

// rpcFresh are the procedures whose replies differ from call to call.
func rpcFresh() []string {
	return []string{genconnect.LedgerServicePostTransactionProcedure, genconnect.TransactionServiceStreamTransactionsProcedure}
}

// grpcServer answers for service through grpc-go.
type grpcServer struct {
	gen.UnimplementedBalanceServiceServer
	gen.UnimplementedTransactionServiceServer
	gen.UnimplementedLedgerServiceServer

	service ledger.Service
}

// GetBalance implements [gen.BalanceServiceServer].
func (s grpcServer) GetBalance(ctx context.Context, id *gen.GetBalanceRequest) (*gen.Balance, error) {
	balance, err := s.service.GetBalance(ctx, idFromProto(id))
	if err != nil {
		return nil, wiregrpc.Encode(err)
	}
	return balanceToProto(balance), nil
}

// GetBalances implements [gen.BalanceServiceServer].
func (s grpcServer) GetBalances(ctx context.Context, ids *gen.GetBalancesRequest) (*gen.GetBalancesResponse, error) {
	balances, err := s.service.GetBalances(ctx, idsFromProto(ids))
	if err != nil {
		return nil, wiregrpc.Encode(err)
	}
	return balancesToProto(balances), nil
}

// GetTransactions implements [gen.LedgerServiceServer].
func (s grpcServer) GetTransactions(
	ctx context.Context, ask *gen.GetTransactionsRequest,
) (*gen.GetTransactionsResponse, error) {
	page, err := pageFromProto(ask)
	if err != nil {
		return nil, wiregrpc.Encode(err)
	}
	list, err := s.service.GetTransactions(ctx, page)
	if err != nil {
		return nil, wiregrpc.Encode(err)
	}
	return listToProto(list), nil
}

// PostTransaction implements [gen.LedgerServiceServer].
func (s grpcServer) PostTransaction(ctx context.Context, posting *gen.PostTransactionRequest) (*gen.Transaction, error) {
	posted, err := s.service.PostTransaction(ctx, postingFromProto(posting))
	if err != nil {
		return nil, wiregrpc.Encode(err)
	}
	return transactionToProto(posted), nil
}

// StreamTransactions implements [gen.TransactionServiceServer]. grpc-go writes
// what is sent at once, and lets Send wait when 64 KiB of a call are unwritten
// because its reader is behind.
func (s grpcServer) StreamTransactions(
	ask *gen.StreamTransactionsRequest, call grpc.ServerStreamingServer[gen.TransactionEvent],
) error {
	feed, err := feedFromProto(ask)
	if err != nil {
		return wiregrpc.Encode(err)
	}
	for event, err := range s.service.StreamTransactions(call.Context(), feed) {
		if err != nil {
			return wiregrpc.Encode(err)
		}
		if err := call.Send(eventToProto(event)); err != nil {
			return err
		}
	}
	return nil
}

// grpcCalls makes the calls through grpc-go.
type grpcCalls struct {
	balances     gen.BalanceServiceClient
	transactions gen.TransactionServiceClient
	ledger       gen.LedgerServiceClient
}

var _ ledger.Service = grpcCalls{}

func newGRPCCalls(conn grpc.ClientConnInterface) grpcCalls {
	return grpcCalls{
		balances:     gen.NewBalanceServiceClient(conn),
		transactions: gen.NewTransactionServiceClient(conn),
		ledger:       gen.NewLedgerServiceClient(conn),
	}
}

// GetBalance implements [ledger.Service].
func (s grpcCalls) GetBalance(ctx context.Context, id ledger.AccountID) (ledger.Balance, error) {
	balance, err := s.balances.GetBalance(ctx, idToProto(id))
	if err != nil {
		return ledger.Balance{}, wiregrpc.Decode(err)
	}
	return read(balanceFromProto(balance))
}

// GetBalances implements [ledger.Service].
func (s grpcCalls) GetBalances(ctx context.Context, ids ledger.AccountIDs) (ledger.Balances, error) {
	balances, err := s.balances.GetBalances(ctx, idsToProto(ids))
	if err != nil {
		return ledger.Balances{}, wiregrpc.Decode(err)
	}
	return read(balancesFromProto(balances))
}

// GetTransactions implements [ledger.Service].
func (s grpcCalls) GetTransactions(ctx context.Context, page ledger.Page) (ledger.TransactionList, error) {
	list, err := s.ledger.GetTransactions(ctx, pageToProto(page))
	if err != nil {
		return ledger.TransactionList{}, wiregrpc.Decode(err)
	}
	return read(listFromProto(list))
}

// PostTransaction implements [ledger.Service].
func (s grpcCalls) PostTransaction(ctx context.Context, posting ledger.Posting) (ledger.Transaction, error) {
	posted, err := s.ledger.PostTransaction(ctx, postingToProto(posting))
	if err != nil {
		return ledger.Transaction{}, wiregrpc.Decode(err)
	}
	return read(transactionFromProto(posted))
}

// StreamTransactions implements [ledger.Service].
func (s grpcCalls) StreamTransactions(ctx context.Context, feed ledger.Feed) iter.Seq2[ledger.Event, error] {
	return func(yield func(ledger.Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel() // which is how grpc-go is told that nobody reads on
		call, err := s.transactions.StreamTransactions(ctx, feedToProto(feed))
		if err != nil {
			yield(ledger.Event{}, wiregrpc.Decode(err))
			return
		}
		receive := func() (ledger.Event, error) {
			message, err := call.Recv()
			if err != nil {
				return ledger.Event{}, err
			}
			return eventFromProto(message) // its error is Internal to Decode, as it should be
		}
		stream.Items(receive, func(e ledger.Event) ledger.Event { return e }, wiregrpc.Decode)(yield)
	}
}
