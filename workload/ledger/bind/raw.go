package bind

import (
	"net/http"

	"connectrpc.com/connect"

	"wirelab"
	wireconnect "wirelab/wire/connect"
	"wirelab/wire/raw"
	"wirelab/workload/ledger"
	"wirelab/workload/ledger/gen/genconnect"
)

// rawHoles are the operations that no raw driver carries.
func rawHoles() map[string]string {
	return map[string]string{
		"PostTransaction": "each call posts a transaction of its own, and a raw driver repeats requests that were made beforehand",
		"StreamTransactions": "each event tells when it was sent, so that no reply has the bytes of one before, by which a raw driver " +
			"knows it: it would decode every event as a library's client does",
	}
}

// withRawConnect adds the raw driver and the null responder to a binding that
// connect-go speaks: gRPC with connect.WithGRPC, else the Connect protocol.
func withRawConnect(
	b wirelab.Binding[ledger.Service], over raw.Over, more ...connect.ClientOption,
) wirelab.Binding[ledger.Service] {
	options := append(wireconnect.ClientOptions(), more...)
	b.Raw = raw.Driver(over, rawHoles(), func(t *raw.Transport, scheme, address string) ledger.Service {
		return stub{newConnectCalls(t, scheme+"://"+address, options...)}
	})
	b.Null = raw.Null(over, connectHandler,
		genconnect.LedgerServicePostTransactionProcedure,
		genconnect.TransactionServiceStreamTransactionsProcedure)
	return b
}

// connectHandler answers by connect-go, in the protocols that it speaks.
func connectHandler(service ledger.Service) http.Handler {
	mux := http.NewServeMux()
	handleConnect(mux, service, wireconnect.HandlerOptions()...)
	return mux
}
