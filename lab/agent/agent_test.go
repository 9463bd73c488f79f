package agent_test

import (
	"cmp"
	"context"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wirelab"
	"wirelab/internal/leaktest"
	"wirelab/internal/porttest"
	"wirelab/internal/process"
	"wirelab/lab/agent"
	"wirelab/lab/control"
	"wirelab/lab/plan"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(leaktest.Patient(m)) }

// silent is a service without a wire: its cell serves by waiting, and its client answers by itself. It tests how
// drivers and servers carry out orders. Tests elsewhere measure with real wires.
type silent interface {
	Hush(ctx context.Context, q question) (question, error)
}

type question struct{ N int }

func (q question) Equal(other question) bool { return q == other }

type quiet struct{ err error }

func (s quiet) Hush(_ context.Context, q question) (question, error) { return q, s.err }

func cell(secure bool, stubError error) wirelab.Cell {
	return wirelab.Workload[silent]{
		Name: "silence", New: func() silent { return quiet{} },
		Operations: []wirelab.Operation[silent]{
			wirelab.Unary("Hush", func(r *rand.Rand) question { return question{r.IntN(9)} }, silent.Hush),
		},
		Bindings: []wirelab.Binding[silent]{{
			Protocol: wirelab.Protocol{Name: "none", Network: "tcp", Secure: secure, Multiplexed: true},
			Servers: []wirelab.Server[silent]{{Serve: func(ctx context.Context, at wirelab.Endpoint, _ silent) error {
				<-ctx.Done()
				return at.Close()
			}}},
			Clients: []wirelab.Dialer[silent]{{Dial: func(context.Context, wirelab.Dialing) (silent, io.Closer, error) {
				return quiet{stubError}, io.NopCloser(nil), nil
			}}},
		}},
	}.Erase().Cells[0]
}

// drive runs a driver over orders and returns its replies. The first reply says that it is ready.
func drive(t *testing.T, c wirelab.Cell, orders ...control.Order) []control.Reply {
	t.Helper()
	find := func(order control.Dial) (wirelab.Cell, error) {
		if order.Workload != "silence" {
			return wirelab.Cell{}, wirelab.UnknownName("workload", order.Workload, []string{"silence"})
		}
		return c, nil
	}
	in, give := io.Pipe()
	out, said := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- agent.Drive(t.Context(), find, in, said)
		said.Close()
	}()
	lines := process.NewReader[control.Reply](out)
	ready, err := lines.Read()
	if err != nil {
		t.Fatal(err)
	}
	replies := []control.Reply{ready}
	for _, order := range orders { // one at a time, as a runner sends them
		if err := process.WriteLine(give, order); err != nil {
			t.Fatal(err)
		}
		r, err := lines.Read()
		if err != nil {
			t.Fatal(err)
		}
		replies = append(replies, r)
	}
	give.Close()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	return replies
}

// A driver whose runner is gone cancels its order, however long that would have lasted. Otherwise it would go on
// driving with no reader.
func TestDriverStopsWithItsRunner(t *testing.T) {
	t.Parallel()
	c := cell(false, nil)
	in, give := io.Pipe()
	out, said := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- agent.Drive(t.Context(), func(control.Dial) (wirelab.Cell, error) { return c, nil }, in, said)
		said.Close()
	}()
	lines := process.NewReader[control.Reply](out)
	if _, err := lines.Read(); err != nil {
		t.Fatal(err)
	}
	if err := process.WriteLine(give, dial(control.Load{InFlight: 1, Connections: 1})); err != nil {
		t.Fatal(err)
	}
	if r, err := lines.Read(); err != nil || r.Error != "" {
		t.Fatal(r, err)
	}
	if err := process.WriteLine(give, control.Order{Slice: &control.Slice{For: plan.Duration(time.Hour)}}); err != nil {
		t.Fatal(err)
	}
	give.Close()
	if r, err := lines.Read(); err != nil || r.Error == "" {
		t.Errorf("a slice that was given up: %+v, %v", r, err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func dial(loads ...control.Load) control.Order {
	for i := range loads {
		loads[i].Operation = cmp.Or(loads[i].Operation, "Hush")
	}
	return control.Order{Dial: &control.Dial{
		Workload: "silence", Protocol: "none", Address: "here:1",
		// Only a machine at a standstill reaches this deadline.
		Seed: 3, Deadline: plan.Duration(20 * time.Second), Loads: loads,
	}}
}

func TestDriverMeasuresWhatItIsTold(t *testing.T) {
	t.Parallel()
	replies := drive(t, cell(false, nil),
		dial(control.Load{InFlight: 3, Connections: 1}),
		control.Order{Warm: &control.Warm{Load: 0, Least: plan.Duration(20 * time.Millisecond)}},
		control.Order{Slice: &control.Slice{Load: 0, For: plan.Duration(500 * time.Millisecond)}},
		control.Order{Usage: &struct{}{}},
	)
	if len(replies) != 5 || replies[0].Ready == nil {
		t.Fatalf("%d replies, the first %+v", len(replies), replies[0])
	}
	for i, r := range replies {
		if r.Error != "" {
			t.Fatalf("reply %d: %s", i, r.Error)
		}
	}
	m := replies[3].Slice
	if m == nil || m.Recording.OK == 0 || m.Calls < m.Recording.OK || m.Usage.CPU <= 0 || m.Recording.Workers != 3 {
		t.Errorf("measured %+v", m)
	}
	if replies[2].Warm == nil || replies[2].Warm.Windows < 20 || replies[4].Usage == nil {
		t.Errorf("warm %+v, usage %+v", replies[2].Warm, replies[4].Usage)
	}
}

// A driver that hears what the server has used asks for it after each window, and considers it when it decides about
// steadiness. Another order ends the warm-up, and so does the end of the input.
func TestDriverIsToldWhatTheServerUsed(t *testing.T) {
	t.Parallel()
	window := func(used time.Duration) control.Order {
		return control.Order{Warm: &control.Warm{
			Least:  plan.Duration(20 * time.Millisecond),
			Served: new(plan.Duration(used)),
		}}
	}
	orders := []control.Order{
		dial(control.Load{InFlight: 1, Connections: 1}), window(0), window(1),
		{Usage: &struct{}{}},
	}
	// The use grows from window to window for as long as a warm-up may last, and longer: a window in which the machine
	// let no call end does not count. Steadiness is decided after 20, 40, 80 and 160 windows. In the half before each
	// of those, the use grows by far more than the noise of a busy machine.
	used, step := 0.0, float64(10*time.Millisecond)
	for i := range 240 {
		switch {
		case i < 20:
			step *= 1.5
		case i < 40:
			step *= 1.3
		case i < 80:
			step *= 1.1
		default:
			step *= 1.06
		}
		used += step
		orders = append(orders, window(time.Duration(used)))
	}
	replies := drive(t, cell(false, nil), orders...)[1:]
	over := slices.IndexFunc(replies, func(r control.Reply) bool { return r.Warm != nil })
	if over < 4+160 {
		t.Fatalf("over with reply %d, before it has seen 160 windows", over)
	}
	for i, r := range replies[:over] {
		if r.Error != "" || i > 0 && i != 3 && r.Window == nil {
			t.Fatalf("reply %d: %+v", i, r)
		}
	}
	if w := replies[over].Warm; w.Steady || w.Windows != 160 || len(w.Cost) != 160 {
		t.Errorf("a server that uses more and more: steady %v after %d windows, %d costs", w.Steady, w.Windows,
			len(w.Cost))
	}
}

// Each order that makes no sense is refused with a reason, and the driver continues.
func TestDriverRefuses(t *testing.T) {
	t.Parallel()
	slice := control.Order{Slice: &control.Slice{Load: 7, For: plan.Duration(time.Millisecond)}}
	unknown := dial()
	unknown.Dial.Workload = "noise"
	unknownOperation := dial(control.Load{Operation: "Shout", InFlight: 1})
	badTrust := dial()
	badTrust.Dial.Authority = "no PEM"
	for _, c := range []struct {
		name   string
		orders []control.Order
		want   string
	}{
		{"a load that is not there", []control.Order{slice}, "no load 7"},
		{"nothing", []control.Order{{}}, "an empty order"},
		{"an unknown workload", []control.Order{unknown}, "known: silence"},
		{"an unknown operation", []control.Order{unknownOperation}, "known: Hush"},
		{"an authority that is none", []control.Order{badTrust}, "no certificate"},
		{"leaving what it never dialled", []control.Order{{Leave: &struct{}{}}}, "before it dialled"},
		{
			"a load that it left",
			[]control.Order{dial(control.Load{InFlight: 1}), {Leave: &struct{}{}}, {Slice: &control.Slice{}}},
			"no load 0",
		},
		{"the raw driver where there is none", []control.Order{{Dial: &control.Dial{
			Workload: "silence", Raw: true, Loads: []control.Load{{Operation: "Hush", InFlight: 1}},
		}}}, "no raw driver"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			replies := drive(t, cell(false, nil), append(c.orders, control.Order{Usage: &struct{}{}})...)
			refusal := replies[len(replies)-2]
			if !strings.Contains(refusal.Error, c.want) {
				t.Errorf("refused with %q, want %q", refusal.Error, c.want)
			}
			if replies[len(replies)-1].Usage == nil {
				t.Error("the driver did not go on")
			}
		})
	}
}

// A cell whose first calls fail is not driven.
func TestDriverChecksBeforeItMeasures(t *testing.T) {
	t.Parallel()
	replies := drive(t, cell(false, wirelab.Errorf(wirelab.Unavailable, "gone")), dial(control.Load{InFlight: 2}))
	if !strings.Contains(replies[1].Error, "the first call failed: gone") {
		t.Errorf("replies %+v", replies)
	}
}

// A server says where it listens, reports what it used, refuses orders that are not for servers, and ends when its
// input ends.
func TestServerTakesOrders(t *testing.T) {
	t.Parallel()
	c := cell(true, nil)
	at, ready, err := agent.Listen(c, porttest.Held(t))
	if err != nil {
		t.Fatal(err)
	}
	if at.Certificate == nil || !strings.Contains(ready.Authority, "BEGIN CERTIFICATE") {
		t.Error("a secure protocol without a certificate")
	}
	orders := `{"usage":{}}` + "\n" + `{"dial":{}}` + "\n"
	var out strings.Builder
	if err := agent.Serve(t.Context(), c, nil, at, ready, strings.NewReader(orders), &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 3 || !strings.Contains(lines[0], ready.Address) || !strings.Contains(lines[1], "allocations") ||
		!strings.Contains(lines[2], "usage only") {
		t.Errorf("said %q", lines)
	}
	if _, err := net.Dial("tcp", ready.Address); err == nil {
		t.Error("it still listens")
	}
}

func TestListenRefuses(t *testing.T) {
	t.Parallel()
	if _, _, err := agent.Listen(cell(false, nil), "nowhere"); err == nil ||
		!strings.Contains(err.Error(), "host:port") {
		t.Errorf("error %v, want how an address looks", err)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, _, err = agent.Listen(cell(false, nil), taken.Addr().String())
	if err == nil || wirelab.CodeOf(err) != wirelab.Unavailable || !strings.Contains(err.Error(), "--addr") {
		t.Errorf("error %v, want what to do", err)
	}
}
