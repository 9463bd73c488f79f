package wirelab_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"wirelab"
)

// adder is a service with a call of each kind. off is added to every reply, which makes the service wrong; calls
// end with fail; the last drop items of a stream are not sent.
type adder struct {
	off  int
	fail error
	drop int
}

// term is a request: a struct, because Parse needs one.
type term struct{ N int }

type sum int

func (s sum) Equal(other sum) bool { return s == other }

type service interface {
	Next(ctx context.Context, t term) (sum, error)
	Count(ctx context.Context, t term) iter.Seq2[sum, error]
	Total(ctx context.Context, terms iter.Seq2[term, error]) (sum, error)
	Running(ctx context.Context, terms iter.Seq2[term, error]) iter.Seq2[sum, error]
}

func (a adder) Next(_ context.Context, t term) (sum, error) { return sum(t.N + 1 + a.off), a.fail }

func (a adder) Count(_ context.Context, t term) iter.Seq2[sum, error] {
	return func(yield func(sum, error) bool) {
		for i := range t.N - a.drop {
			if !yield(sum(i+a.off), nil) {
				return
			}
		}
		if a.fail != nil {
			yield(0, a.fail)
		}
	}
}

func (a adder) Total(_ context.Context, terms iter.Seq2[term, error]) (sum, error) {
	total := a.off
	for t, err := range terms {
		if err != nil {
			return 0, err
		}
		total += t.N
	}
	return sum(total), a.fail
}

func (a adder) Running(_ context.Context, terms iter.Seq2[term, error]) iter.Seq2[sum, error] {
	return func(yield func(sum, error) bool) {
		total := a.off
		for t := range terms {
			total += t.N
			if !yield(sum(total), nil) {
				return
			}
		}
		if a.fail != nil {
			yield(0, a.fail)
		}
	}
}

func operations() []wirelab.Operation[service] {
	one := func(r *rand.Rand) term { return term{3 + r.IntN(5)} }
	many := func(r *rand.Rand) []term { return []term{{1}, {r.IntN(9)}, {2}} }
	return []wirelab.Operation[service]{
		wirelab.Unary("Next", one, service.Next,
			wirelab.Drawing[term]{Name: "seven", Draw: func(*rand.Rand) term { return term{7} }}),
		wirelab.ServerStreaming("Count", one, service.Count),
		wirelab.ClientStreaming("Total", many, service.Total),
		wirelab.BidiStreaming("Running", many, service.Running),
	}
}

func random() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

// TestChecks checks that a check passes the right service and no wrong one, on every kind of call.
func TestChecks(t *testing.T) {
	t.Parallel()
	conflict := wirelab.Errorf(wirelab.Conflict, "no")
	for _, o := range operations() {
		exchange, err := o.Draw("", random())
		if err != nil {
			t.Fatal(err)
		}
		right := exchange.Expect(t.Context(), adder{})
		if err := right(t.Context(), adder{}); err != nil {
			t.Errorf("%s: the reference itself: %v", o.Name, err)
		}
		var mismatch *wirelab.Mismatch
		if err := right(t.Context(), adder{off: 1}); !errors.As(err, &mismatch) {
			t.Errorf("%s: a wrong reply: %v, want a mismatch", o.Name, err)
		}
		if err := right(t.Context(), adder{fail: conflict}); wirelab.CodeOf(err) != wirelab.Conflict ||
			errors.As(err, &mismatch) {
			t.Errorf("%s: a failed call: %v, want its own error", o.Name, err)
		}
		failing := exchange.Expect(t.Context(), adder{fail: conflict})
		if err := failing(t.Context(), adder{fail: wirelab.Errorf(wirelab.Conflict, "other words")}); err != nil {
			t.Errorf("%s: the expected code: %v", o.Name, err)
		}
		for name, s := range map[string]adder{
			"success":      {},
			"another code": {fail: wirelab.Errorf(wirelab.NotFound, "no")},
		} {
			if err := failing(t.Context(), s); !errors.As(err, &mismatch) {
				t.Errorf("%s: %s where %v is expected: %v, want a mismatch", o.Name, name, conflict, err)
			}
		}
	}
}

// TestChecksCountItems checks that a stream of the wrong length is a mismatch even if every item is right.
func TestChecksCountItems(t *testing.T) {
	t.Parallel()
	o := operations()[1]
	exchange, err := o.Draw("", random())
	if err != nil {
		t.Fatal(err)
	}
	var mismatch *wirelab.Mismatch
	if err := exchange.Expect(t.Context(), adder{})(t.Context(), adder{drop: 1}); !errors.As(err, &mismatch) {
		t.Errorf("a short stream: %v", err)
	}
	if err := exchange.Expect(t.Context(), adder{drop: 1})(t.Context(), adder{}); !errors.As(err, &mismatch) {
		t.Errorf("a long stream: %v", err)
	}
}

// The check of a unary call allocates nothing, because it is in the hot path.
func TestUnaryCheckAllocatesNothing(t *testing.T) {
	exchange, err := operations()[0].Draw("", random())
	if err != nil {
		t.Fatal(err)
	}
	var s service = adder{}
	check, ctx := exchange.Expect(t.Context(), s), t.Context()
	if n := testing.AllocsPerRun(100, func() { _ = check(ctx, s) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestParse checks that requests are read from JSON by the names of the domain, and that anything else is an error.
func TestParse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		operation int
		text      string
		want      string // the replies, or a part of the error
	}{
		{0, `{"n": 4}`, "[5]"},
		{0, `{}`, "[1]"},
		{1, `{"N": 3}`, "[0 1 2]"},
		{2, `[{"n": 4}, {"n": 5}]`, "[9]"},
		{3, `[{"n": 4}, {"n": 5}]`, "[4 9]"},
		{3, `[]`, "[]"},
		{0, `{"n": 4} {}`, "more follows"},
		{0, `{"m": 4}`, "unknown field"},
		{0, `{"n": "x"}`, "request of Next"},
		{2, `{"n": 4}`, "request of Total"},
		{0, ``, "EOF"},
	} {
		got := ask(t, operations()[c.operation], c.text)
		refused := strings.HasPrefix(got, "invalid_argument") && strings.Contains(got, c.want)
		if got != c.want && !refused {
			t.Errorf("%s: %s gives %s, want %s", operations()[c.operation].Name, c.text, got, c.want)
		}
	}
}

func ask(t *testing.T, o wirelab.Operation[service], text string) string {
	t.Helper()
	exchange, err := o.Parse([]byte(text))
	if err != nil {
		return err.Error()
	}
	replies, err := exchange.Ask(t.Context(), adder{})
	if err != nil {
		return err.Error()
	}
	all := make([]string, 0, len(replies))
	for _, r := range replies {
		all = append(all, string(rune('0'+int(r.(sum)))))
	}
	return "[" + strings.Join(all, " ") + "]"
}

// TestErasedWorkload checks that a workload without its type serves, dials and calls. A seed fixes the series of
// requests; another seed gives another series.
func TestErasedWorkload(t *testing.T) {
	t.Parallel()
	var asked []int
	cell := erased(&asked)
	client, err := cell.Dial(t.Context(), wirelab.Dialing{})
	if err != nil {
		t.Fatal(err)
	}
	series := func(seed uint64) []int {
		asked = nil
		call, err := client.Caller("Next", "", seed)
		if err != nil {
			t.Fatal(err)
		}
		for range 50 {
			if err := call(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		return asked
	}
	if a, b := series(1), series(1); !slices.Equal(a, b) {
		t.Errorf("one seed asked %v and %v", a, b)
	}
	if a, b := series(1), series(2); slices.Equal(a, b) {
		t.Errorf("two seeds asked the same: %v", a)
	}
	if _, err := client.Caller("Next", "nine", 1); err == nil || !strings.Contains(err.Error(), "drawn, seven") {
		t.Errorf("unknown requests: %v, want the known ways", err)
	}
	if _, _, err := client.Call(t.Context(), "Previous", nil); err == nil ||
		!strings.Contains(err.Error(), "Count, Next") {
		t.Errorf("unknown operation: %v, want the known ones", err)
	}
	request, reply, err := client.Call(t.Context(), "Next", []byte(`{"N": 1}`))
	if err != nil || fmt.Sprintf("%+v", request) != "{N:1}" || len(reply) != 1 || reply[0] != sum(2) {
		t.Errorf("%v gives %v, %v", request, reply, err)
	}
}

// recorder records the arguments of Next.
type recorder struct {
	adder
	asked *[]int
}

func (r recorder) Next(ctx context.Context, t term) (sum, error) {
	*r.asked = append(*r.asked, t.N)
	return r.adder.Next(ctx, t)
}

// erased returns a cell whose stub is the service itself.
func erased(asked *[]int) wirelab.Cell {
	w := wirelab.Workload[service]{
		Name: "adder", New: func() service { return adder{} }, Operations: operations(),
		Bindings: []wirelab.Binding[service]{{
			Protocol: wirelab.Protocol{Name: "none"},
			Servers:  []wirelab.Server[service]{{Library: "one"}, {Library: "two"}},
			Clients: []wirelab.Dialer[service]{{
				Library: "three",
				Dial: func(context.Context, wirelab.Dialing) (service, io.Closer, error) {
					return recorder{asked: asked}, io.NopCloser(nil), nil
				},
			}},
		}},
	}
	return w.Erase().Cells[0]
}

// TestCellsAreTheProduct checks that every server is paired with every client, and that the first pair is the usual
// one.
func TestCellsAreTheProduct(t *testing.T) {
	t.Parallel()
	server := func(name string) wirelab.Server[service] { return wirelab.Server[service]{Library: name} }
	client := func(name string) wirelab.Dialer[service] { return wirelab.Dialer[service]{Library: name} }
	work := wirelab.Workload[service]{
		Operations: operations(),
		Bindings: []wirelab.Binding[service]{{
			Servers: []wirelab.Server[service]{server("a"), server("b")},
			Clients: []wirelab.Dialer[service]{client("c"), client("d")},
		}},
	}.Erase()
	var got []string
	for _, cell := range work.Cells {
		name := cell.Server + cell.Client
		if cell.Usual {
			name += "*"
		}
		got = append(got, name)
	}
	if want := []string{"ac*", "ad", "bc", "bd"}; !slices.Equal(got, want) {
		t.Errorf("cells %v, want %v", got, want)
	}
	if len(work.Operations) != 4 || work.Operations[0].Requests[1] != "seven" {
		t.Errorf("operations %+v", work.Operations)
	}
}

// A data set is a setting of a cell: the service, the requests and the expected replies change together. The error
// for an unknown name lists the known ones.
func TestWithAnotherDataSet(t *testing.T) {
	t.Parallel()
	sized := func(off int) wirelab.Data[service] {
		return wirelab.Data[service]{
			Name: map[int]string{0: "small", 10: "large"}[off],
			New:  func() service { return adder{off: off} },
			Operations: []wirelab.Operation[service]{
				wirelab.Unary("Next", func(*rand.Rand) term { return term{N: off} }, service.Next),
			},
		}
	}
	var served []service
	w := wirelab.Workload[service]{
		Name: "sums", New: sized(0).New, Operations: sized(0).Operations,
		Data: []wirelab.Data[service]{sized(0), sized(10)},
		Bindings: []wirelab.Binding[service]{{
			Protocol: wirelab.Protocol{Name: "none"},
			Servers: []wirelab.Server[service]{{
				Library: "s",
				Serve: func(_ context.Context, _ wirelab.Endpoint, s service) error {
					served = append(served, s)
					return nil
				},
			}},
			Clients: []wirelab.Dialer[service]{{
				Library: "c",
				Dial: func(context.Context, wirelab.Dialing) (service, io.Closer, error) {
					return adder{off: 10}, io.NopCloser(nil), nil
				},
			}},
		}},
	}
	work := w.Erase()
	if !slices.Equal(work.Data, []string{"small", "large"}) {
		t.Errorf("data sets %q", work.Data)
	}
	cell, err := work.Cells[0].With("large")
	if err != nil {
		t.Fatal(err)
	}
	if !cell.Usual {
		t.Error("another data set made the cell unusual")
	}
	if err := cell.Serve(t.Context(), wirelab.Endpoint{}); err != nil || len(served) != 1 ||
		served[0] != (adder{off: 10}) {
		t.Errorf("served %v, %v", served, err)
	}
	for _, c := range []struct {
		data  string
		right bool // the stub answers from the large data set
	}{{"large", true}, {"small", false}, {"", false}} {
		cell, err := work.Cells[0].With(c.data)
		if err != nil {
			t.Fatal(err)
		}
		client, err := cell.Dial(t.Context(), wirelab.Dialing{})
		if err != nil {
			t.Fatal(err)
		}
		call, err := client.Caller("Next", "", 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := call(t.Context()); (err == nil) != c.right {
			t.Errorf("data set %q against a service of the large one: %v", c.data, err)
		}
	}
	if _, err := cell.With("huge"); wirelab.CodeOf(err) != wirelab.InvalidArgument ||
		!strings.Contains(err.Error(), "small") {
		t.Errorf("an unknown data set: %v", err)
	}
	w.Data = nil
	if _, err := w.With("small"); wirelab.CodeOf(err) != wirelab.InvalidArgument {
		t.Errorf("a workload of one data set: %v", err)
	}
}
