package bind

import (
	"net/http"

	"connectrpc.com/connect"

	"wirelab"
	wireconnect "wirelab/wire/connect"
	"wirelab/wire/raw"
	"wirelab/workload/directory"
	"wirelab/workload/directory/gen/genconnect"
)

// rawHoles are the operations that no raw driver carries.
func rawHoles() map[string]string {
	return map[string]string{
		"CreatePerson": "each call creates a person under an id of its own, and a raw driver repeats requests that were made beforehand",
		"ProgramComposition": "it is a program of eight calls, one of which creates a person under an id of its own, " +
			"and a raw driver makes single calls and repeats them",
	}
}

// withRawConnect adds the raw driver and the null responder to a binding that
// connect-go speaks: gRPC with connect.WithGRPC, else the Connect protocol.
func withRawConnect(
	b wirelab.Binding[directory.Service], over raw.Over, more ...connect.ClientOption,
) wirelab.Binding[directory.Service] {
	options := append(wireconnect.ClientOptions(), more...)
	b.Raw = raw.Driver(over, rawHoles(), func(t *raw.Transport, scheme, address string) directory.Service {
		return stub{connectCalls{genconnect.NewPersonServiceClient(t, scheme+"://"+address, options...)}}
	})
	b.Null = raw.Null(over, func(service directory.Service) http.Handler {
		mux := http.NewServeMux()
		mux.Handle(genconnect.NewPersonServiceHandler(connectServer{service}, wireconnect.HandlerOptions()...))
		return mux
	}, genconnect.PersonServiceCreatePersonProcedure)
	return b
}
