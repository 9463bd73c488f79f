package experiment_test

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"wirelab/lab/agent"
	"wirelab/lab/control"
	"wirelab/lab/experiment"
	"wirelab/lab/network"
	"wirelab/lab/network/relay"
	"wirelab/lab/plan"
	"wirelab/lab/result"
)

// networked is a bench whose relays are goroutines too.
type networked struct {
	*bench
	placement result.Placement

	mu     sync.Mutex // guards all below
	orders []experiment.RelayOrder
	shaped []network.Spec
	undone int
}

func newNetworked() *networked { return &networked{bench: newBench()} }

func (b *networked) Placement() result.Placement { return b.placement }

// Null stalls nowhere.
func (b *networked) Null(ctx context.Context, arm plan.Arm) (experiment.Child, error) {
	arm.Protocol = "plain"
	return b.bench.Null(ctx, arm)
}

func (b *networked) Relay(_ context.Context, order experiment.RelayOrder) (experiment.Child, error) {
	kind := "tcp"
	if order.Datagrams {
		kind = "udp"
	}
	r, err := relay.Listen("127.0.0.1:0", relay.Config{Spec: order.Path, Network: kind, To: order.To, Seed: order.Seed})
	if err != nil {
		return nil, err
	}
	c := startChild(func(ctx context.Context, in io.Reader, out io.Writer) error {
		return agent.Relay(ctx, r, in, out)
	})
	b.mu.Lock()
	b.orders = append(b.orders, order)
	b.mu.Unlock()
	b.bench.mu.Lock()
	b.all = append(b.all, c)
	b.bench.mu.Unlock()
	return c, c.begin()
}

func (b *networked) Shape(_ context.Context, path network.Spec) (func(), error) {
	if path.Jitter > 0 {
		return nil, errors.New("no such thing here")
	}
	b.shaped = append(b.shaped, path)
	return func() { b.undone++ }, nil
}

// on puts a runner's plan on a network.
func on(t *testing.T, c *experiment.Runner, network string) *experiment.Runner {
	t.Helper()
	c.Plan.Network, c.Plan.Slice, c.Plan.Slices = network, plan.Duration(100*time.Millisecond), 1
	p, err := c.Plan.Complete()
	if err != nil {
		t.Fatal(err)
	}
	c.Plan = p
	return c
}

// Every arm has its own relay in every round, all on one host and on the same path, also the null responder: so no arm
// has a different network (mt-M09), and the cost of the network is in the floor reported with the figure, while a stall
// inside a server is not (mt-M08).
func TestNetworkIsBeforeEveryServer(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	b := newNetworked()
	c := on(t, runner(t, b.bench, 2, "a", "stalling"), "rtt=4ms")
	c.Bench, c.Plan.Floor = b, plan.FloorAuto
	r, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var right [2]uint64
	for _, round := range r.Rounds {
		if len(round.Failures) > 0 || len(round.Trials) != 2*len(c.Plan.Loads) {
			t.Fatalf("failures %v, %d trials", round.Failures, len(round.Trials))
		}
		for _, trial := range round.Trials {
			checkRelayed(t, &trial, trial.Arm == 1)
			right[trial.Arm] += trial.OK
		}
	}
	if right[0] == 0 || right[1] == 0 {
		t.Errorf("%v right calls of each arm, want some", right)
	}
	// Two for what the relay itself adds; then one for each arm, and one for each null responder.
	if len(b.orders) != 2+2*4 {
		t.Fatalf("%d relays were started, want 10", len(b.orders))
	}
	seen := map[string]int{}
	for _, o := range b.orders[2:] {
		seen[o.Name]++
		if o.Path != b.orders[2].Path || o.Path.RTT != 4*time.Millisecond || o.Datagrams {
			t.Errorf("relay %+v is on another path than %+v", o, b.orders[2])
		}
	}
	if seen["a"] != 4 || seen["stalling"] != 4 {
		t.Errorf("relays of %v, want 4 of each arm", seen)
	}
	checkDescribed(t, r)
	b.checkAllStopped(t)
}

func checkRelayed(t *testing.T, trial *result.Trial, stalls bool) {
	t.Helper()
	const trip = int64(4 * time.Millisecond)
	if trial.Relay == nil || trial.Relay.CPU <= 0 || trial.Relay.Forwarded < 2*trial.OK ||
		trial.Relay.LateP99 < trial.Relay.LateP50 {
		t.Fatalf("the relay did %+v for %d calls", trial.Relay, trial.OK)
	}
	service, floor := trial.Service.Quantile(0.5), trial.Floor.Service.Quantile(0.5)
	// On a machine so busy that no call fell into the window, there is nothing to check.
	if trial.Floor.Service.Count() == 0 {
		floor = trip
	}
	if trial.Service.Count() == 0 {
		service, stalls = trip, false
	}
	if service < trip*99/100 || floor < trip*99/100 { // histograms round
		t.Errorf("service %d ns, floor %d ns: less than the network's round trip", service, floor)
	}
	if least := int64(stall); stalls && trial.Service.Quantile(0.01)-trip < least*98/100 {
		t.Errorf("the quickest call took %d ns, the network and the stall take %d", trial.Service.Quantile(0.01),
			trip+least)
	}
}

func checkDescribed(t *testing.T, r *result.Result) {
	t.Helper()
	n := r.Network
	if n == nil || n.Spec != "rtt=4ms" || n.Name != "" || n.Via != "relay" || len(n.Notes) == 0 || len(n.Floors) != 1 {
		t.Fatalf("the network is described as %+v", n)
	}
	f := n.Floors[0]
	if f.Transport != "TCP" || f.Trips == 0 || f.DirectP50 <= 0 || f.DirectP99 < f.DirectP50 ||
		f.Asked != plan.Duration(2*time.Millisecond) {
		t.Errorf("the floor is %+v", f)
	}
	// p99s are not checked here: the relay's is the difference of two, and a stall of the machine in the direct trips
	// makes it negative by the length of the stall.
	if f.DirectP50+f.BeyondP50 < 0 {
		t.Errorf("a trip that is asked to take 2 ms took less: %+v", f)
	}
}

// A network does not change the order of a round: the same numbers are drawn.
func TestNetworkKeepsTheOrder(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	run := func(network string) (orders [][]int) {
		b := newNetworked()
		c := on(t, runner(t, b.bench, 1, "a", "b", "c"), network)
		c.Bench = b
		r, err := c.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, trial := range r.Rounds[0].Trials {
			orders = append(orders, trial.Order)
		}
		return orders
	}
	if plain, behind := run(""), run("rtt=0"); !slices.EqualFunc(plain, behind, slices.Equal) {
		t.Errorf("without %v, with a network %v", plain, behind)
	}
}

// A server that wirelab did not start is reached through the relay too, and has no floor.
func TestNetworkBeforeATarget(t *testing.T) {
	t.Parallel()
	b := newNetworked()
	theirs, err := b.Server(t.Context(), plan.Arm{Name: "theirs", Protocol: "theirs"})
	if err != nil {
		t.Fatal(err)
	}
	c := runner(t, b.bench, 1, "a")
	c.Bench = b
	c.Plan.Arms[0].Target = theirs.Ready().Address
	c.Plan.Primary = plan.Throughput
	c = on(t, c, "rtt=3ms")
	c.Arms[0].Floorless = experiment.Floorless(c.Plan.Arms[0], true)
	r, err := c.Run(t.Context())
	if err != nil || len(r.Rounds[0].Trials) == 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, trial := range r.Rounds[0].Trials {
		quick := trial.Service.Count() > 0 && trial.Service.Quantile(0.5) < int64(3*time.Millisecond)*99/100
		if trial.Relay == nil || quick || trial.Server != nil || trial.Floor != nil {
			t.Errorf("relay %+v, p50 %d, server %v, floor %v", trial.Relay, trial.Service.Quantile(0.5), trial.Server,
				trial.Floor)
		}
	}
	if last := b.orders[len(b.orders)-1]; last.To != theirs.Ready().Address {
		t.Errorf("the relay goes to %s, want %s", last.To, theirs.Ready().Address)
	}
	if err := theirs.Stop(); err != nil {
		t.Error(err)
	}
	b.checkAllStopped(t)
}

// Ctrl-C ends the measurement of the relay's own floor as at any other time.
func TestInterruptWhileFloorIsMeasured(t *testing.T) {
	t.Parallel()
	b := newNetworked()
	c := on(t, runner(t, b.bench, 1, "a", "b"), "wan")
	c.Bench = b
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	b.checkAllStopped(t)
}

// With netem the servers are behind a path in the kernel, and no relay is started. If that is impossible, nothing is
// measured.
func TestNetem(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	b := newNetworked()
	c := on(t, runner(t, b.bench, 1, "a", "b"), "rtt=5ms,via=netem")
	c.Bench = b
	r, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(b.orders) != 0 || len(b.shaped) != 1 || b.undone != 1 || r.Network.Via != "netem" ||
		len(r.Network.Floors) != 0 || r.Rounds[0].Trials[0].Relay != nil {
		t.Errorf("%d relays, %v shaped, %d undone, %+v", len(b.orders), b.shaped, b.undone, r.Network)
	}
	c = on(t, runner(t, b.bench, 1, "a", "b"), "rtt=5ms,jitter=1ms,via=netem")
	c.Bench = b
	if _, err := c.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "no such thing here") {
		t.Errorf("it ended with %v", err)
	}
	// A bench that makes no networks says so.
	c = on(t, runner(t, newBench(), 1, "a", "b"), "lan")
	if _, err := c.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "makes no network") {
		t.Errorf("it ended with %v", err)
	}
	b.checkAllStopped(t)
}

// stall is how long the toy's stalling server delays each call.
const stall = 3 * time.Millisecond

// stalling serves the toy with a fixed stall in every call. The stall is neither the service's nor the network's.
func stalling(ctx context.Context, lines net.Conn) {
	timer := time.NewTimer(stall)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		lines.Close()
	}
}

// A relay replies with what it did since it was last asked, and refuses other orders.
func TestRelayObeys(t *testing.T) {
	t.Parallel()
	b := newNetworked()
	c, err := b.Relay(t.Context(), experiment.RelayOrder{Name: "test", To: "127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		reply, err := c.Ask(t.Context(), control.Order{Relayed: &struct{}{}})
		if err != nil || reply.Relayed == nil || *reply.Relayed != (result.Relayed{}) {
			t.Errorf("it did %+v, %v", reply.Relayed, err)
		}
	}
	if reply, err := c.Ask(t.Context(), control.Order{Usage: &struct{}{}}); err != nil || reply.Usage == nil ||
		reply.Usage.CPU <= 0 {
		t.Errorf("it used %+v, %v", reply.Usage, err)
	}
	if _, err := c.Ask(t.Context(), control.Order{Leave: &struct{}{}}); err == nil {
		t.Error("it left")
	}
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
}
