package origin_test

import (
	"context"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wirelab"
	"wirelab/wire/conformance"
	"wirelab/workload/ledger"
	"wirelab/workload/ledger/bind"
)

// toTheSecond is a ledger that tells times to the second, as the published
// servers do. The rest of their replies can then be held to the byte.
type toTheSecond struct{ ledger.Service }

func (s toTheSecond) GetBalance(ctx context.Context, id ledger.AccountID) (ledger.Balance, error) {
	b, err := s.Service.GetBalance(ctx, id)
	b.UpdatedAt = b.UpdatedAt.Truncate(time.Second)
	return b, err
}

func (s toTheSecond) StreamTransactions(ctx context.Context, feed ledger.Feed) iter.Seq2[ledger.Event, error] {
	return func(yield func(ledger.Event, error) bool) {
		for e, err := range s.Service.StreamTransactions(ctx, feed) {
			e.Transaction.Timestamp = e.Transaction.Timestamp.Truncate(time.Second)
			if !yield(e, err) {
				return
			}
		}
	}
}

// replay replays recordings, twice, against every server of a binding: the
// programs may be run again, and each leaves the server well.
func replay(t *testing.T, b wirelab.Binding[ledger.Service], servers []wirelab.Server[ledger.Service], files string) {
	t.Helper()
	data, err := ledger.Sized("100x12") // as recorded: a log that a recording can hold
	if err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join("testdata", files))
	if err != nil || len(names) == 0 {
		t.Fatalf("no recordings %s, %v", files, err)
	}
	for _, name := range names {
		recording, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, server := range servers {
			t.Run(b.Protocol.Name+"/"+server.Library+"/"+strings.TrimPrefix(name, "testdata/"), func(t *testing.T) {
				t.Parallel()
				pair := conformance.Pair[ledger.Service]{Binding: b, Server: server}
				address, roots := pair.Serve(t, toTheSecond{data.New()})
				for range 2 {
					conformance.Peer{Protocol: b.Protocol, Address: address, Roots: roots}.Replay(t, string(recording))
				}
			})
		}
	}
}

// andNull are the servers of a binding, and its null responder.
func andNull(b wirelab.Binding[ledger.Service]) []wirelab.Server[ledger.Service] {
	null := wirelab.Server[ledger.Service]{Library: "null", Serve: b.Null}
	return append([]wirelab.Server[ledger.Service]{null}, b.Servers...)
}

// overGRPC are the bindings whose servers speak gRPC. Those of the Connect
// protocol on HTTP/2 do too.
func overGRPC() []wirelab.Binding[ledger.Service] {
	return []wirelab.Binding[ledger.Service]{bind.GRPC(), bind.GRPCTLS(), bind.Connect()}
}

// overREST are the bindings whose servers have the published paths.
func overREST(t *testing.T) (all []wirelab.Binding[ledger.Service]) {
	t.Helper()
	for _, protocol := range []string{"http1-json", "http1-proto", "http1-avro", "http1-tls-json"} {
		all = append(all, conformance.Pick(t, bind.HTTP(), protocol))
	}
	return all
}

// The published clients of all three languages get the published balances.
func TestBalances(t *testing.T) {
	t.Parallel()
	for _, b := range overGRPC() {
		for _, files := range []string{
			"go-balance-grpc.txt", "go-replay-grpc.txt", "python-balance.txt", "rust-balance-grpc.txt",
		} {
			replay(t, b, andNull(b), files)
		}
	}
	for _, b := range overREST(t) {
		for _, files := range []string{"go-balance-rest.txt", "go-replay-rest.txt", "rust-balance-rest.txt"} {
			replay(t, b, andNull(b), files)
		}
	}
}

// They get the published log, to its end, or until they break off. (The null
// responder answers whole requests, and so streams nothing.)
func TestStreams(t *testing.T) {
	t.Parallel()
	for _, b := range overGRPC() {
		for _, files := range []string{"go-stream-grpc*.txt", "python-stream*.txt", "rust-stream*.txt"} {
			replay(t, b, b.Servers, files)
		}
	}
	for _, b := range append(overREST(t), bind.SSE()) {
		replay(t, b, b.Servers, "go-stream-rest*.txt")
	}
}
