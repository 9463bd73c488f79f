package bind_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"wirelab"
	"wirelab/workload/logging"
	"wirelab/workload/logging/bind"
)

// hostileCall is a request that no stub of ours lets pass.
type hostileCall struct {
	operation, why string
	ask            func(ctx context.Context, service logging.Service) error
}

// asking collects such requests.
type asking struct{ all []hostileCall }

// add adds a request with its call.
func add[Req, Rep any](
	a *asking, operation, why string, call func(logging.Service, context.Context, Req) (Rep, error), req Req,
) {
	a.all = append(a.all, hostileCall{operation, why, func(ctx context.Context, s logging.Service) error {
		_, err := call(s, ctx, req)
		return err
	}})
}

func (a *asking) write(why string, e entry) { add(a, "WriteLog", why, logging.Service.WriteLog, e) }

func (a *asking) get(why, id string) {
	add(a, "GetEntry", why, logging.Service.GetEntry, logging.EntryID{ID: id})
}

func (a *asking) list(why string, q query) {
	add(a, "ListEntries", why, logging.Service.ListEntries, q)
}

func (a *asking) remove(why string, before time.Time) {
	add(a, "DeleteEntries", why, logging.Service.DeleteEntries, logging.Retention{Before: before})
}

func hostileCalls() []hostileCall {
	a := &asking{}
	for _, id := range []string{
		"' OR '1'='1", "x'; DROP TABLE entries; --", `"; SELECT pg_sleep(10); --`, "%", "a\x00b", "..",
		"../../etc/passwd",
		"..%2f..%2fetc", "a/b", "a?limit=1", "<script>", "é", strings.Repeat("x", 4096),
	} {
		a.get("id "+id, id)
		a.write("id "+id, entry{ID: id, Name: "x"})
	}
	a.get("no id", "")
	a.write("nothing", entry{})
	a.write("no name", entry{ID: "x", Data: "x"})
	a.write("a name with NUL", entry{Name: "a\x00"})
	a.write("data with NUL", entry{Name: "a", Data: "\x00"})
	a.write("a long name", entry{Name: strings.Repeat("n", logging.NameLimit+1)})
	a.write("long data", entry{Name: "a", Data: strings.Repeat("d", logging.DataLimit+1)})
	a.list("a name with NUL", query{Name: "a\x00"})
	a.list("a long name", query{Name: strings.Repeat("n", logging.NameLimit+1)})
	for _, n := range []int32{-1, logging.PageLimit + 1, math.MaxInt32, math.MinInt32} {
		a.list("limit", query{Limit: n})
	}
	for _, n := range []int64{-1, logging.PositionLimit + 1, math.MaxInt64, math.MinInt64} {
		a.list("before", query{Before: n})
	}
	for _, year := range []int{-44, 0, 10_000, 292_277_026} {
		at := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
		a.list("since a year", query{Since: at})
		a.list("until a year", query{Until: at})
		a.remove("before a year", at)
	}
	a.remove("before nothing", time.Time{})
	return a.all
}

// A server refuses by itself what our stubs would not have sent, with the same
// code on every wire; it stores and removes nothing for it, and answers
// afterwards (ms-D01, D02).
func TestHostile(t *testing.T) {
	t.Parallel()
	calls := hostileCalls()
	for _, b := range bind.Bindings() {
		if b.Protocol.Pipeline {
			continue // its server is several processes; package gateway tests its API
		}
		for _, server := range b.Servers {
			t.Run(b.Protocol.Name+"/"+server.Library, func(t *testing.T) {
				t.Parallel()
				memory := logging.New()
				if _, err := memory.WriteLog(t.Context(), entry{ID: "there", Name: "there"}); err != nil {
					t.Fatal(err)
				}
				checked := pair{Binding: b, Server: server, Client: b.Clients[0]}.Open(t, memory, 1)
				service := bind.Unchecked(checked)
				for _, c := range calls {
					ctx, cancel := context.WithTimeout(t.Context(), patience)
					err := c.ask(ctx, service)
					cancel()
					if err == nil || wirelab.CodeOf(err) != wirelab.InvalidArgument {
						t.Errorf("%s, %.60s: %.200v", c.operation, c.why, err)
					}
				}
				if got := inStore(t, memory); len(got) != 1 || got[0] != "there=" {
					t.Errorf("stored are %q", got)
				}
				if got, err := checked.GetEntry(t.Context(), logging.EntryID{ID: "there"}); err != nil ||
					got.Name != "there" {
					t.Errorf("afterwards: %v, %v", got, err)
				}
			})
		}
	}
}
