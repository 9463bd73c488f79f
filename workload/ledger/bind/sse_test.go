package bind_test

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"wirelab"
	"wirelab/workload/ledger"
	"wirelab/workload/ledger/bind"
)

// events are the protocols that carry the log as server-sent events.
func events() []pair {
	var all []pair
	for _, b := range []wirelab.Binding[ledger.Service]{bind.SSE(), bind.SSEH2C()} {
		all = append(all, pair{Binding: b, Server: b.Servers[0], Client: b.Clients[0]})
	}
	return all
}

// smallLog is the service with 1,000 transactions, and them.
func smallLog(t *testing.T) (ledger.Service, []ledger.Transaction) {
	t.Helper()
	service := ledger.Data()[1].New()
	list, err := service.GetTransactions(t.Context(), ledger.Page{})
	if err != nil || len(list.Transactions) != ledger.PageLimit {
		t.Fatalf("%d transactions, %v", len(list.Transactions), err)
	}
	return service, list.Transactions
}

// relay passes connections on to an address, of which it cuts each, in both
// directions and in the middle of whatever it says, once that has said so many
// bytes; the last entry of cuts counts for all behind it, and 0 never cuts.
type relay struct {
	to       string
	cuts     []int64
	accepted atomic.Int64
	running  sync.WaitGroup
	open     sync.Map // of net.Conn, to be closed when the test ends
}

// start starts the relay until the test ends and returns its address.
func (r *relay) start(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			r.open.Store(conn, nil)
			n := r.accepted.Add(1)
			r.running.Go(func() { r.pass(conn, r.cuts[min(int(n), len(r.cuts))-1]) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		r.open.Range(func(conn, _ any) bool {
			conn.(net.Conn).Close()
			return true
		})
		r.running.Wait()
	})
	return listener.Addr().String()
}

func (r *relay) pass(conn net.Conn, cut int64) {
	defer conn.Close()
	server, err := net.Dial("tcp", r.to)
	if err != nil {
		return
	}
	defer server.Close()
	r.running.Go(func() {
		io.Copy(server, conn)
		server.Close() // which ends the other direction too
	})
	if cut > 0 {
		io.CopyN(conn, server, cut)
		return
	}
	io.Copy(conn, server)
}

// checkLog reads a stream and reports whether it is the transactions, numbered,
// without one lost, repeated or misplaced.
func checkLog(stream iter.Seq2[ledger.Event, error], want []ledger.Transaction) error {
	n := 0
	for event, err := range stream {
		switch {
		case err != nil:
			return fmt.Errorf("after %d events: %w", n, err)
		case n >= len(want):
			return fmt.Errorf("%v follows the last", event)
		case !event.Transaction.Same(want[n]) || event.Sequence != uint64(n)+1:
			return fmt.Errorf("event %d is %v, want %v", n+1, event, want[n])
		case event.Due == 0 || event.Sent < event.Due:
			return fmt.Errorf("event %d has the stamp %+v", n+1, event.Stamp)
		}
		n++
	}
	if n != len(want) {
		return fmt.Errorf("%d events, want %d", n, len(want))
	}
	return nil
}

// asLate are the transactions of a log that are as late as a time.
func asLate(log []ledger.Transaction, at time.Time) []ledger.Transaction {
	i := slices.IndexFunc(log, func(x ledger.Transaction) bool { return !x.Timestamp.Before(at) })
	return log[i:]
}

// TestSSEResumes cuts connections in the middle of a stream, the first ones or every one: the client continues
// after the last event that it has, and gives its caller each event once (grb-D10, R2).
func TestSSEResumes(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, p := range events() {
		t.Run(p.Protocol.Name, func(t *testing.T) {
			t.Parallel()
			service, log := smallLog(t)
			address, _ := p.Serve(t, service)
			for _, c := range []struct {
				why  string
				feed ledger.Feed
				cuts []int64
				want []ledger.Transaction
			}{
				{"the whole log, cut once", ledger.Feed{}, []int64{100_001, 0}, log},
				{"the whole log, every connection cut", ledger.Feed{}, []int64{50_007}, log},
				{"with a limit", ledger.Feed{Limit: 600}, []int64{70_000, 20_000, 0}, log[:600]},
				{"after one", ledger.Feed{After: log[99].ID, Limit: 700}, []int64{70_000, 0}, log[100:800]},
				{
					"since, at a rate",
					ledger.Feed{Since: log[500].Timestamp, Rate: ledger.RateLimit},
					[]int64{30_000, 0},
					asLate(log, log[500].Timestamp),
				},
			} {
				r := &relay{to: address, cuts: c.cuts}
				stub, closer, err := p.Client.Dial(t.Context(), wirelab.Dialing{Address: r.start(t)})
				if err != nil {
					t.Fatal(err)
				}
				if err := checkLog(stub.StreamTransactions(t.Context(), c.feed), c.want); err != nil {
					t.Errorf("%s: %v", c.why, err)
				}
				if n := r.accepted.Load(); n < 2 {
					t.Errorf("%s: nothing was cut", c.why)
				}
				if err := closer.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestSSEResumesAFollower cuts the connection of a follower that has read everything: transactions posted during
// the gap are not lost.
func TestSSEResumesAFollower(t *testing.T) {
	t.Parallel()
	for _, p := range events() {
		t.Run(p.Protocol.Name, func(t *testing.T) {
			t.Parallel()
			memory := ledger.New()
			address, _ := p.Serve(t, memory)
			var conns sync.Map
			stub, closer, err := p.Client.Dial(t.Context(), wirelab.Dialing{
				Address: address,
				Connect: func(ctx context.Context, network, address string) (net.Conn, error) {
					conn, err := new(net.Dialer).DialContext(ctx, network, address)
					conns.Store(conn, nil)
					return conn, err
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer closer.Close()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			posted := 0
			post := func() {
				posted++
				_, err := memory.PostTransaction(ctx, ledger.Posting{
					ID: fmt.Sprint("sse-", posted), From: payer, To: payee, Amount: 1,
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			const rounds = 5
			n := 0
			post()
			for event, err := range stub.StreamTransactions(ctx, ledger.Feed{After: lastInLog, Follow: true}) {
				if err != nil {
					t.Fatalf("after %d events: %v", n, err)
				}
				if n++; event.Transaction.ID != fmt.Sprint("sse-", n) || event.Sequence != uint64(n) {
					t.Fatalf("event %d is %v", n, event)
				}
				if n == posted { // it has all: cut it off, and post behind its back
					if n >= 3*rounds {
						break
					}
					conns.Range(func(conn, _ any) bool {
						conn.(net.Conn).Close()
						conns.Delete(conn)
						return true
					})
					for range 3 {
						post()
					}
				}
			}
		})
	}
}
