package experiment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"wirelab/lab/control"
	"wirelab/lab/network"
	"wirelab/lab/plan"
	"wirelab/lab/result"
)

// RelayOrder describes a relay to start.
type RelayOrder struct {
	Name string // name of the arm, for messages
	Path network.Spec
	To   string // host:port
	// Datagrams selects UDP instead of TCP.
	Datagrams bool
	Seed      uint64
}

// args returns the order as a command line.
func (o RelayOrder) args() []string {
	args := []string{
		"relay", "--controlled", "--network", o.Path.String(), "--to", o.To, "--seed",
		strconv.FormatUint(o.Seed, 10),
	}
	if o.Datagrams {
		args = append(args, "--udp")
	}
	return args
}

// open makes the network of an experiment, and describes it in its result. The caller must call undo to remove it.
func (c *Runner) open(ctx context.Context, r *result.Result) (undo func(), err error) {
	undo = func() {}
	path, given, err := c.Plan.Path()
	if err != nil || !given {
		return undo, err
	}
	bench, able := c.Bench.(Networks)
	if !able {
		return undo, fmt.Errorf("the bench makes no network %s", path)
	}
	streams := slices.ContainsFunc(c.Arms, func(a result.Arm) bool { return !a.Datagrams })
	datagrams := slices.ContainsFunc(c.Arms, func(a result.Arm) bool { return a.Datagrams })
	r.Network = &result.Network{
		Spec: path.String(), Name: path.PresetName(), Via: path.Via.String(), Notes: path.Notes(streams, datagrams),
	}
	if r.Network.Notes == nil {
		r.Network.Notes = []string{}
	}
	if path.Via == network.Netem {
		return bench.Shape(ctx, path)
	}
	for _, kind := range []struct{ used, datagrams bool }{{streams, false}, {datagrams, true}} {
		if kind.used {
			floor, err := relayFloor(ctx, bench, path, kind.datagrams)
			if ctx.Err() != nil {
				return undo, context.Cause(ctx)
			}
			if err != nil {
				return undo, fmt.Errorf("what the relay itself adds: %w", err)
			}
			r.Network.Floors = append(r.Network.Floors, floor)
		}
	}
	return undo, nil
}

// between puts the plan's relay, if it has one, in front of an address, and changes reach to the relay's address. It
// returns nil if the plan has no relay.
func (w *round) between(ctx context.Context, a *armRun, reach *control.Ready) (Child, error) {
	path, given, err := w.c.Plan.Path()
	if err != nil || !given || path.Via != network.Relay {
		return nil, err
	}
	bench, able := w.c.Bench.(Networks)
	if !able {
		return nil, fmt.Errorf("the bench makes no network %s", path)
	}
	relay, err := bench.Relay(ctx, RelayOrder{
		Name: w.result.Arms[a.index].Name, Path: path, To: reach.Address,
		Datagrams: w.result.Arms[a.index].Datagrams, Seed: w.seed,
	})
	if err != nil {
		return nil, err
	}
	reach.Address = relay.Ready().Address
	return relay, nil
}

// own reports whether the driver has its cores to itself.
func (w *round) own() bool {
	at := w.c.Bench.Placement()
	return at.DriverCPUs != nil && (w.result.Network == nil || !slices.Equal(at.DriverCPUs, at.RelayCPUs))
}

// relayed reads the counters of a relay, and returns a function that adds to a trial what the relay did from then on.
// As with a server, the CPU clock is read last before and first after. The function returns the CPU time.
func relayed(ctx context.Context, relay Child) (func(context.Context, *result.Trial) (plan.Duration, error), error) {
	if relay == nil {
		return func(context.Context, *result.Trial) (plan.Duration, error) { return 0, nil }, nil
	}
	if _, err := relay.Ask(ctx, control.Order{Relayed: &struct{}{}}); err != nil {
		return nil, err
	}
	began, err := relay.CPU()
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, t *result.Trial) (plan.Duration, error) {
		ended, err := relay.CPU()
		if err != nil {
			return 0, err
		}
		reply, err := relay.Ask(ctx, control.Order{Relayed: &struct{}{}})
		if err != nil {
			return 0, err
		}
		if t.Relay == nil {
			t.Relay = &result.Relayed{}
		}
		did, cpu := reply.Relayed, plan.Duration(ended-began)
		t.Relay.CPU += cpu
		t.Relay.Forwarded += did.Forwarded
		t.Relay.Dropped += did.Dropped
		t.Relay.LateP50 = max(t.Relay.LateP50, did.LateP50)
		t.Relay.LateP99 = max(t.Relay.LateP99, did.LateP99)
		return cpu, nil
	}, nil
}

// How a relay's floor is measured: floorTrips round trips of floorMessage bytes, after floorWarm that are not counted.
// Then by how much a requested delay is exceeded. The delay is at most floorAsked, so that this takes no more than a
// second.
const (
	floorTrips   = 400
	floorWarm    = 50
	floorMessage = 100
	floorAsked   = 2 * time.Millisecond
	floorPatient = 5 * time.Second // for one trip
)

// relayFloor measures what a relay itself adds, between sockets of the runner: once directly, once through a relay that
// adds nothing on request, and once through a relay that adds the path's delay, at most floorAsked.
func relayFloor(ctx context.Context, b Networks, path network.Spec, datagrams bool) (result.RelayFloor, error) {
	floor := result.RelayFloor{Transport: "TCP", Trips: floorTrips}
	if datagrams {
		floor.Transport = "UDP"
	}
	at, done, err := echo(datagrams)
	if err != nil {
		return floor, err
	}
	defer done()
	direct, err := trips(ctx, at, datagrams)
	if err != nil {
		return floor, err
	}
	through := func(path network.Spec) (times []int64, err error) {
		relay, err := b.Relay(ctx, RelayOrder{Name: "its floor", Path: path, To: at, Datagrams: datagrams, Seed: 1})
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, relay.Stop()) }()
		return trips(ctx, relay.Ready().Address, datagrams)
	}
	plain, err := through(network.Spec{})
	if err != nil {
		return floor, err
	}
	floor.DirectP50, floor.DirectP99 = quantile(direct, 0.5), quantile(direct, 0.99)
	floor.P50, floor.P99 = quantile(plain, 0.5)-floor.DirectP50, quantile(plain, 0.99)-floor.DirectP99
	if path.RTT > 0 {
		asked := min(path.RTT, floorAsked)
		late, err := through(network.Spec{RTT: asked})
		if err != nil {
			return floor, err
		}
		floor.Asked = plan.Duration(asked)
		floor.BeyondP50 = quantile(late, 0.5) - floor.DirectP50 - int64(asked)
		floor.BeyondP99 = quantile(late, 0.99) - floor.DirectP99 - int64(asked)
	}
	return floor, nil
}

// quantile returns the one of sorted times.
func quantile(times []int64, q float64) int64 {
	return times[min(int(q*float64(len(times))), len(times)-1)]
}

// trips makes round trips to an echo server, one after another on one connection, and returns their sorted times.
func trips(ctx context.Context, to string, datagrams bool) ([]int64, error) {
	var dialer net.Dialer
	kind := "tcp"
	if datagrams {
		kind = "udp"
	}
	conn, err := dialer.DialContext(ctx, kind, to)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }() // all replies have been read
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	message := make([]byte, floorMessage)
	times := make([]int64, 0, floorTrips)
	for i := range floorWarm + floorTrips {
		_ = conn.SetDeadline(time.Now().Add(floorPatient)) // if it fails, the write below does too
		began := time.Now()
		if _, err := conn.Write(message); err != nil {
			return nil, err
		}
		if _, err := io.ReadFull(conn, message); err != nil {
			return nil, err
		}
		if i >= floorWarm {
			times = append(times, int64(time.Since(began)))
		}
	}
	slices.Sort(times)
	return times, nil
}

// echo sends back what it receives, on one connection at a time, until done is called.
func echo(datagrams bool) (address string, done func(), err error) {
	var serving sync.WaitGroup
	if datagrams {
		packets, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			return "", nil, err
		}
		serving.Go(func() { echoPackets(packets) })
		return packets.LocalAddr().String(), func() { _ = packets.Close(); serving.Wait() }, nil
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.Copy(conn, conn) // until the other side closes
			_ = conn.Close()
		}
	})
	return listener.Addr().String(), func() { _ = listener.Close(); serving.Wait() }, nil
}

func echoPackets(packets net.PacketConn) {
	buffer := make([]byte, 2*floorMessage)
	for {
		n, from, err := packets.ReadFrom(buffer)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			_, _ = packets.WriteTo(buffer[:n], from) // a lost packet shows as a trip that does not end
		}
	}
}
