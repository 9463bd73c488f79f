package bind

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"wirelab"
	wiregrpc "wirelab/wire/grpc"
	"wirelab/workload/ledger"
)

// A reply that claims what it has not, or holds what no ledger has, is the
// server's fault, and costs its reader nothing; in a stream what came before
// it has arrived.
func TestHostileReplies(t *testing.T) {
	t.Parallel()
	event := ledger.Event{Transaction: ledger.Transaction{ID: "x"}}
	eventHead, listHead := handHead(inAvro().event.schema), handHead(inAvro().list.schema)
	for _, c := range []struct {
		binding     wirelab.Binding[ledger.Service]
		in          func() forms
		name        string
		list, event string
		says        string
	}{
		{
			GRPCAvro(), avroForms, "a billion transactions", string(listHead.long(1e9)),
			string(eventHead.transaction(event.Transaction)), "the message ends",
		},
		{
			GRPCAvro(), avroForms, "a writer that is not known", "\xC3\x0112345678", "\xC3\x0112345678", "is not known",
		},
		{
			GRPCAvro(), avroForms, "a place below all", "\xC3",
			string(eventHead.transaction(event.Transaction).long(-1, 0, 0)), "sequence -1 is negative",
		},
		{GRPCJSON(), jsonForms, "no JSON", "<html>", "<html>", "cannot be read as JSON"},
		{
			GRPCJSON(), jsonForms, "no time", `{"transactions":[{"timestamp":"0"}]}`, `{"timestamp":"yesterday"}`,
			`"yesterday" is not a time`,
		},
	} {
		t.Run(c.binding.Protocol.Name+" with "+c.name, func(t *testing.T) {
			t.Parallel()
			evil := c.in()
			write := evil.event.Append
			evil.event.Append = func(dst []byte, e *ledger.Event) ([]byte, error) {
				if e.Sequence == 1 {
					return write(dst, e)
				}
				return append(dst, c.event...), nil
			}
			evil.list.Append = func(dst []byte, _ *ledger.TransactionList) ([]byte, error) {
				return append(dst, c.list...), nil
			}
			address := serveForms(t, evil)
			for _, client := range c.binding.Clients {
				service, closer, err := client.Dial(t.Context(), wirelab.Dialing{Address: address})
				if err != nil {
					t.Fatal(err)
				}
				if list, err := service.GetTransactions(t.Context(), ledger.Page{}); err == nil ||
					wirelab.CodeOf(err) != wirelab.Internal {
					t.Errorf("%s: page %v, %v", client.Library, list, err)
				}
				var events []ledger.Event
				for event, err := range service.StreamTransactions(t.Context(), ledger.Feed{Limit: 9}) {
					if err == nil {
						events = append(events, event)
						continue
					}
					if wirelab.CodeOf(err) != wirelab.Internal ||
						!strings.HasPrefix(wirelab.Public(err).Message, "the reply cannot be read: ") ||
						!strings.Contains(err.Error(), c.says) {
						t.Errorf("%s: %v, want internal with %q", client.Library, err, c.says)
					}
					events = append(events, ledger.Event{})
				}
				if len(events) != 2 || events[0].Sequence != 1 || events[1].Sequence != 0 {
					t.Errorf("%s: events %v, want one and the failure", client.Library, events)
				}
				if err := closer.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// serveForms serves a ledger in those forms by grpc-go until the test ends.
func serveForms(t *testing.T, f forms) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- wiregrpc.Serve(ctx, wirelab.Endpoint{Listener: listener, Drain: time.Second}, false, f.name,
			func(to grpc.ServiceRegistrar) {
				f.register(to, ledger.New())
			})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return listener.Addr().String()
}

// TestJSONFormsByHand checks that the gRPC encodings in JSON write the same text as plain HTTP.
func TestJSONFormsByHand(t *testing.T) {
	t.Parallel()
	f := jsonForms()
	at := time.Date(2024, 1, 31, 12, 0, 0, 1000, time.UTC)
	for want, write := range map[string]func() ([]byte, error){
		`{"id":"a"}`: func() ([]byte, error) { return f.id.Append(nil, &ledger.AccountID{ID: "a"}) },
		`{"ids":["a","b"]}`: func() ([]byte, error) {
			return f.ids.Append(nil, &ledger.AccountIDs{IDs: []string{"a", "b"}})
		},
		`{"after":"x","account":"a","since":"2024-01-31T12:00:00.000001Z","limit":3}`: func() ([]byte, error) {
			return f.page.Append(nil, &ledger.Page{After: "x", Account: "a", Since: at, Limit: 3})
		},
		`{"after":"","account":"","since":"","rate":2147483648,"limit":5,"follow":true}`: func() ([]byte, error) {
			return f.feed.Append(nil, &ledger.Feed{Rate: 1 << 31, Limit: 5, Follow: true})
		},
	} {
		if got, err := write(); err != nil || string(got) != want {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
	}
}
