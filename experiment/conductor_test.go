package experiment_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wirelab"
	"wirelab/agent"
	"wirelab/control"
	"wirelab/experiment"
	"wirelab/plan"
	"wirelab/result"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A complete run has every arm under every load in every round, each slice in
// a place of its own, and costs on both sides.
func TestRunMeasuresEveryArm(t *testing.T) {
	t.Parallel()
	c := conductor(t, newBench(), 3, "a", "b")
	var places []string
	c.Observe = func(e experiment.Event) {
		if e.Phase == experiment.Measuring {
			places = append(places, e.Arm)
		}
	}
	r, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.Ending != result.RoundsDone || len(r.Rounds) != 3 {
		t.Fatalf("ended %q after %d rounds, want %q after 3", r.Ending, len(r.Rounds), result.RoundsDone)
	}
	for i, round := range r.Rounds {
		if len(round.Failures) > 0 {
			t.Errorf("round %d: failures %v", i, round.Failures)
		}
		if len(round.Trials) != 2*len(c.Plan.Loads) {
			t.Fatalf("round %d has %d trials, want %d", i, len(round.Trials), 2*len(c.Plan.Loads))
		}
		var order []int
		for _, trial := range round.Trials {
			order = append(order, trial.Order...)
			checkTrial(t, c.Plan, trial)
		}
		slices.Sort(order)
		for place, at := range order {
			if place != at {
				t.Fatalf("round %d: slices ran at places %v, want each place once", i, order)
			}
		}
	}
	if alternating(places) {
		t.Errorf("the arms took turns %v: the order is to be random", places)
	}
}

func checkTrial(t *testing.T, p plan.Plan, trial result.Trial) {
	t.Helper()
	if want := p.Slice * plan.Duration(p.Slices); trial.Window != want && !p.Loads[trial.Load].Open() {
		t.Errorf("window of %v, want %v", trial.Window, want)
	}
	if trial.OK == 0 || trial.Sent != trial.OK || trial.Response.Count() != trial.OK {
		t.Errorf("sent %d, right %d, recorded %d: want all equal and some", trial.Sent, trial.OK, trial.Response.Count())
	}
	if trial.Server == nil || trial.Server.CPU <= 0 || trial.Driver.CPU <= 0 {
		t.Errorf("CPU of server %v and driver %v: want both", trial.Server, trial.Driver)
	}
	if trial.WireSent < trial.OK*2 || trial.WireReceived < trial.OK*2 {
		t.Errorf("%d and %d bytes for %d calls", trial.WireSent, trial.WireReceived, trial.OK)
	}
	if f := trial.Floor; f == nil || f.Service.Count() == 0 || f.Completed == 0 || f.Window != p.Slice || f.Calls < f.Completed || f.DriverCPU <= 0 {
		t.Errorf("floor %+v: want one", f)
	}
	if trial.Connections != 0 || trial.Open == 0 {
		t.Errorf("%d connections opened in the window, %d open: want none and some", trial.Connections, trial.Open)
	}
}

// TestFloors: none where they are not wanted or cannot be, and a null
// responder that does not start is the arm's failure.
func TestFloors(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		set   func(*experiment.Conductor)
		nulls int
	}{
		"wanted":     {func(*experiment.Conductor) {}, 2},
		"not wanted": {func(c *experiment.Conductor) { c.Plan.Floor = plan.FloorNone }, 0},
		"no null responder for one": {func(c *experiment.Conductor) {
			c.Arms[1].Floorless = experiment.Floorless(c.Plan.Arms[1], false)
		}, 1},
	} {
		b := newBench()
		c := conductor(t, b, 1, "a", "b")
		test.set(c)
		r, err := c.Run(t.Context())
		if err != nil || len(r.Rounds) != 1 || len(r.Rounds[0].Failures) > 0 {
			t.Fatalf("%s: %+v, %v", name, r, err)
		}
		if b.nulls != test.nulls {
			t.Errorf("%s: %d null responders, want %d", name, b.nulls, test.nulls)
		}
		for _, trial := range r.Rounds[0].Trials {
			if want := c.Plan.Floor == plan.FloorAuto && r.Arms[trial.Arm].Floorless == ""; (trial.Floor != nil) != want {
				t.Errorf("%s: arm %d has the floor %v", name, trial.Arm, trial.Floor)
			}
		}
		b.checkAllStopped(t)
	}
}

func alternating(arms []string) bool {
	for i := 2; i < len(arms); i++ {
		if arms[i] != arms[i-2] {
			return false
		}
	}
	return true
}

// The same seed asks and orders the same.
func TestSeedFixesTheOrder(t *testing.T) {
	t.Parallel()
	run := func() (orders [][]int) {
		r, err := conductor(t, newBench(), 2, "a", "b", "c").Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, round := range r.Rounds {
			slices.SortFunc(round.Trials, func(a, b result.Trial) int { return a.Arm*10 + a.Load - b.Arm*10 - b.Load })
			for _, trial := range round.Trials {
				orders = append(orders, trial.Order)
			}
		}
		return orders
	}
	first, second := run(), run()
	if !slices.EqualFunc(first, second, slices.Equal) {
		t.Errorf("two runs of one seed went\n%v\n%v", first, second)
	}
}

// Ctrl-C in the third round keeps the two that were complete.
func TestInterruptKeepsCompleteRounds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	bench := newBench()
	c := conductor(t, bench, 5, "a", "b")
	c.Observe = func(e experiment.Event) {
		if e.Round == 3 && e.Phase == experiment.Measuring {
			cancel()
		}
	}
	r, err := c.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if r.Ending != result.Interrupted || len(r.Rounds) != 2 {
		t.Errorf("ended %q with %d rounds, want %q with 2", r.Ending, len(r.Rounds), result.Interrupted)
	}
	bench.checkAllStopped(t)
}

// A server that dies in the middle of a round costs its arm that round: the
// other arm keeps its figures, and the next round starts a new server.
func TestServerDiesInMidRound(t *testing.T) {
	t.Parallel()
	bench := newBench()
	c := conductor(t, bench, 4, "a", "b")
	c.Observe = func(e experiment.Event) {
		if e.Round == 2 && e.Phase == experiment.Measuring && e.Arm == "b" {
			bench.killServer("b")
		}
	}
	r, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Rounds) != 4 || r.Ending != result.RoundsDone {
		t.Fatalf("ended %q after %d rounds", r.Ending, len(r.Rounds))
	}
	broken := r.Rounds[1]
	if len(broken.Failures) != 1 || broken.Failures[0].Arm != 1 || broken.Failures[0].Why == "" {
		t.Errorf("failures %+v, want one of arm 1 with a reason", broken.Failures)
	}
	for _, trial := range broken.Trials {
		if trial.Arm != 0 {
			t.Errorf("arm %d has figures from the round in which it died", trial.Arm)
		}
	}
	if len(r.Rounds[2].Trials) != len(r.Rounds[0].Trials) {
		t.Errorf("the round after has %d trials, want %d", len(r.Rounds[2].Trials), len(r.Rounds[0].Trials))
	}
	bench.checkAllStopped(t)
}

// An arm that dies in two rounds in a row is out, and nothing is left to compare.
func TestArmThatKeepsDyingIsOut(t *testing.T) {
	t.Parallel()
	bench := newBench()
	c := conductor(t, bench, 6, "a", "b")
	c.Observe = func(e experiment.Event) {
		if e.Phase == experiment.Measuring && e.Arm == "b" {
			bench.killServer("b")
		}
	}
	r, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.Ending != result.Failed || len(r.Rounds) != 2 || r.Arms[1].Out == "" || r.Arms[0].Out != "" {
		t.Errorf("ended %q after %d rounds; out: %q and %q", r.Ending, len(r.Rounds), r.Arms[0].Out, r.Arms[1].Out)
	}
	bench.checkAllStopped(t)
}

// An arm that cannot start at all is an error at once, before anything runs.
func TestArmThatCannotStart(t *testing.T) {
	t.Parallel()
	bench := newBench()
	bench.refuse = "b"
	_, err := conductor(t, bench, 3, "a", "b").Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("error %v, want the bench's", err)
	}
	bench.checkAllStopped(t)
}

// A wrong reply is found before the warm-up, and nothing is measured.
func TestWrongReplyIsNotMeasured(t *testing.T) {
	t.Parallel()
	_, err := conductor(t, newBench(), 3, "a", "liar").Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "want") {
		t.Errorf("error %v, want the mismatch", err)
	}
}

func conductor(t *testing.T, b *bench, rounds int, arms ...string) *experiment.Conductor {
	t.Helper()
	p := plan.Plan{
		Workload: "toy", Operation: "Double", Seed: 7,
		Loads:  []plan.Load{{InFlight: 1}, {InFlight: 3}},
		Slices: 3, Slice: plan.Duration(30 * time.Millisecond), WarmUp: plan.Duration(40 * time.Millisecond),
		Rounds: plan.Rounds{Min: rounds, Max: rounds},
	}
	for _, a := range arms {
		p.Arms = append(p.Arms, plan.Arm{Name: a, Protocol: a})
	}
	p, err := p.Complete()
	if err != nil {
		t.Fatal(err)
	}
	c := &experiment.Conductor{Plan: p, Bench: b, ID: "r-test"}
	for _, a := range p.Arms {
		c.Arms = append(c.Arms, result.Arm{Name: a.Name, Protocol: a.Protocol})
	}
	return c
}

// bench runs servers and drivers as goroutines of this process.
type bench struct {
	refuse string // the arm whose server does not start

	mu      sync.Mutex // guards all below
	servers map[string]*child
	all     []*child
	nulls   int
}

func newBench() *bench { return &bench{servers: map[string]*child{}} }

func (*bench) Placement() result.Placement { return result.Placement{} }

func (b *bench) Server(_ context.Context, arm plan.Arm) (experiment.Child, error) {
	if arm.Name == b.refuse {
		return nil, errors.New("refused")
	}
	cell, err := find("toy", arm.Protocol, "", "")
	if err != nil {
		return nil, err
	}
	at, ready, err := agent.Listen(cell, "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c := startChild(func(ctx context.Context, in io.Reader, out io.Writer) error {
		return agent.Serve(ctx, cell, at, ready, in, out)
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	b.servers[arm.Name] = c
	b.all = append(b.all, c)
	return c, c.begin()
}

// Null starts a server too: here none does more than nothing.
func (b *bench) Null(ctx context.Context, arm plan.Arm) (experiment.Child, error) {
	b.mu.Lock()
	served := b.servers[arm.Name]
	b.mu.Unlock()
	c, err := b.Server(ctx, arm)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.servers[arm.Name] = served
	b.nulls++
	return c, err
}

func (b *bench) Driver(context.Context, plan.Arm) (experiment.Child, error) {
	c := startChild(func(ctx context.Context, in io.Reader, out io.Writer) error {
		return agent.Drive(ctx, find, in, out)
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = append(b.all, c)
	return c, c.begin()
}

func (b *bench) killServer(arm string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.servers[arm].Kill()
}

func (b *bench) checkAllStopped(t *testing.T) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, c := range b.all {
		select {
		case <-c.done:
		default:
			t.Errorf("child %d was left behind", i)
		}
	}
}

// child is a goroutine that takes orders as a process would.
type child struct {
	orders  *io.PipeWriter
	output  *io.PipeReader
	replies *control.Reader[control.Reply]
	ready   control.Ready
	kill    context.CancelFunc
	done    chan struct{}
	err     error // read after done
	began   time.Time
}

func startChild(run func(context.Context, io.Reader, io.Writer) error) *child {
	in, orders := io.Pipe()
	output, out := io.Pipe()
	ctx, kill := context.WithCancel(context.Background())
	c := &child{
		orders: orders, output: output, replies: control.NewReader[control.Reply](output),
		kill: kill, done: make(chan struct{}), began: time.Now(),
	}
	go func() {
		defer close(c.done)
		c.err = run(ctx, in, out)
		in.Close()
		out.Close()
	}()
	return c
}

func (c *child) begin() error {
	r, err := c.replies.Read()
	if err == nil && r.Ready != nil {
		c.ready = *r.Ready
	}
	return err
}

func (c *child) Ready() control.Ready        { return c.ready }
func (c *child) CPU() (time.Duration, error) { return time.Since(c.began), nil }

// Kill ends it as a signal would: no more is read, no more is said.
func (c *child) Kill() {
	c.kill()
	c.orders.Close()
	c.output.Close()
}

func (c *child) Ask(_ context.Context, order control.Order) (control.Reply, error) {
	if err := control.Write(c.orders, order); err != nil {
		return control.Reply{}, err
	}
	r, err := c.replies.Read()
	if err == nil && r.Error != "" {
		err = errors.New(r.Error)
	}
	return r, err
}

func (c *child) Stop() error {
	c.orders.Close()
	<-c.done
	c.kill()
	return nil
}

// The toy: a service that doubles numbers, over lines of text.

type toy interface {
	Double(ctx context.Context, n number) (number, error)
}

type number int

func (n number) Equal(other number) bool { return n == other }

type doubler struct{}

func (doubler) Double(_ context.Context, n number) (number, error) { return 2 * n, nil }

func find(_, protocol, _, _ string) (wirelab.Cell, error) {
	w := wirelab.Workload[toy]{
		Name: "toy",
		New:  func() toy { return doubler{} },
		Operations: []wirelab.Operation[toy]{
			wirelab.Unary("Double", func(r *rand.Rand) number { return number(r.IntN(1000)) }, toy.Double),
		},
		Bindings: []wirelab.Binding[toy]{{
			Protocol: wirelab.Protocol{Name: protocol, Network: "tcp"},
			Servers:  []wirelab.Server[toy]{{Library: "lines", Serve: serveLines(protocol == "liar")}},
			Clients:  []wirelab.Dialer[toy]{{Library: "lines", Dial: dialLines}},
		}},
	}
	return w.Erase().Cells[0], nil
}

func serveLines(lie bool) func(context.Context, wirelab.Endpoint, toy) error {
	return func(ctx context.Context, at wirelab.Endpoint, s toy) error {
		var all sync.WaitGroup
		defer all.Wait()
		defer context.AfterFunc(ctx, func() { at.Listener.Close() })()
		for {
			conn, err := at.Listener.Accept()
			if err != nil {
				return nil
			}
			all.Go(func() {
				defer conn.Close()
				defer context.AfterFunc(ctx, func() { conn.Close() })()
				lines := bufio.NewScanner(conn)
				for lines.Scan() {
					n, _ := strconv.Atoi(lines.Text())
					twice, _ := s.Double(ctx, number(n))
					if lie {
						twice++
					}
					if _, err := conn.Write([]byte(strconv.Itoa(int(twice)) + "\n")); err != nil {
						return
					}
				}
			})
		}
	}
}

// linesClient keeps a connection for each call in flight.
type linesClient struct {
	to   wirelab.Dialing
	idle chan net.Conn
}

func dialLines(_ context.Context, to wirelab.Dialing) (toy, io.Closer, error) {
	c := &linesClient{to: to, idle: make(chan net.Conn, to.ConnectionCount())}
	for range to.ConnectionCount() {
		c.idle <- nil
	}
	return c, c, nil
}

func (c *linesClient) Double(ctx context.Context, n number) (number, error) {
	conn := <-c.idle
	defer func() { c.idle <- conn }()
	var err error
	if conn == nil {
		if conn, err = c.to.Open(ctx); err != nil {
			conn = nil
			return 0, wirelab.Errorf(wirelab.Unavailable, "%v", err)
		}
	}
	if _, err = conn.Write([]byte(strconv.Itoa(int(n)) + "\n")); err != nil {
		return 0, wirelab.Errorf(wirelab.Unavailable, "%v", err)
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return 0, wirelab.Errorf(wirelab.Unavailable, "%v", err)
	}
	twice, err := strconv.Atoi(strings.TrimSpace(line))
	return number(twice), err
}

func (c *linesClient) Close() error {
	for range cap(c.idle) {
		if conn := <-c.idle; conn != nil {
			conn.Close()
		}
	}
	return nil
}
