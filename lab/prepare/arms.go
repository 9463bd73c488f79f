package prepare

import (
	"context"
	"net"
	"slices"
	"strings"

	"wirelab"
	"wirelab/lab/experiment"
	"wirelab/lab/inject"
	"wirelab/lab/kind/kinds"
	brokerbench "wirelab/lab/messaging/bench"
	bench "wirelab/lab/pipelines"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/tool"
	"wirelab/lab/trust"
	"wirelab/workload/catalog"
)

// Arms finds and describes the plan's arms.
func (l *Lab) Arms(ctx context.Context, p plan.Plan) ([]result.Arm, error) {
	work, err := l.Work(p.Workload)
	if err != nil {
		return nil, err
	}
	if err := knownLoads(work, p); err != nil {
		return nil, err
	}
	if err := brokerbench.Check(p); err != nil {
		return nil, err
	}
	brokers := kinds.OfPlan(p).Run.Cluster
	arms, cells := make([]result.Arm, 0, len(p.Arms)), make([]wirelab.Cell, 0, len(p.Arms))
	for _, arm := range p.Arms {
		cell, err := l.ArmCell(p.Workload, arm)
		if err != nil {
			return nil, err
		}
		if cell, err = cell.With(p.DataOf(arm)); err != nil {
			return nil, err
		}
		if err := carries(cell, arm, p); err != nil {
			return nil, err
		}
		if _, err := inject.Parse(arm.Inject); err != nil {
			return nil, err
		}
		if err := bench.Check(arm); err != nil && !brokers {
			return nil, err
		}
		if arm.Inject != "" && arm.Target != "" {
			return nil, wirelab.Errorf(wirelab.InvalidArgument,
				"arm %s has both inject and target: faults can be injected only into a server that wirelab starts",
				arm.Name)
		}
		if arm.Hops > 0 && (!passable(cell.Protocol) || brokers || l.Services.Made != nil) {
			return nil, wirelab.Errorf(wirelab.InvalidArgument, "arm %s has hops: they are possible only in front of a "+
				"server of wirelab that is called over TCP without TLS", arm.Name)
		}
		if err := reachable(p, arm, cell); err != nil {
			return nil, err
		}
		described := result.Arm{
			Name: arm.Name, Protocol: cell.Protocol.Name,
			Transport: cell.Protocol.Transport, Framing: cell.Protocol.Framing,
			Encoding: cell.Protocol.Encoding, Datagrams: cell.Protocol.Network == "udp", Secure: cell.Protocol.Secure,
			Multiplexed: cell.Protocol.Multiplexed,
			Server:      cell.Server, Client: cell.Client, Driver: plan.DriverClient, Style: string(cell.Style),
			Floorless: experiment.Floorless(arm, cell.Null != nil || brokers),
			Data:      catalog.DataName(work, p.DataOf(arm)),
		}
		if arm.Target != "" {
			described.Server, described.Style = arm.Server, "" // what serves there is unknown
			if brokers {
				described.Floorless = "its broker runs elsewhere"
			}
		}
		if l.Services.Made != nil && len(p.External) > 0 {
			described.Compared = l.Services.Made.Service.Says(arm.Protocol, p.Operation)
		}
		describeDriver(&described, arm)
		arms, cells = append(arms, described), append(cells, cell)
	}
	return arms, l.checkSecure(ctx, p, cells)
}

// knownLoads returns an error if the workload does not have the operations, requests or streams of a plan.
func knownLoads(work wirelab.Work, p plan.Plan) error {
	for _, l := range p.Loads {
		if err := catalog.KnownCalls(work, p.OperationOf(l), p.RequestsOf(l)); err != nil {
			return err
		}
		if !kinds.Of(l).Run.Held {
			continue
		}
		if err := catalog.Streams(work, p.OperationOf(l)); err != nil {
			return err
		}
	}
	return nil
}

// passable reports whether a process in between can accept calls of a protocol and forward them.
func passable(p wirelab.Protocol) bool { return !p.Pipeline && !p.Secure && p.Network == "tcp" }

// carries returns an error if a cell, with the driver of an arm, cannot carry the plan's operations.
func carries(cell wirelab.Cell, arm plan.Arm, p plan.Plan) error {
	for _, o := range p.Operations() {
		if why, hole := cell.Holes[o]; hole {
			return wirelab.Errorf(wirelab.InvalidArgument, "%s cannot carry %s: %s", arm.Protocol, o, why)
		}
		if !arm.Raw() {
			continue
		}
		if err := catalog.RawCarries(cell, o); err != nil {
			return err
		}
	}
	return toolCarries(cell, arm, p)
}

// reachable returns an error if an arm's target cannot be reached through a relay.
func reachable(p plan.Plan, arm plan.Arm, cell wirelab.Cell) error {
	if p.Network == "" || arm.Target == "" || !cell.Protocol.Secure || p.TLS.ServerName != "" || p.TLS.Insecure {
		return nil
	}
	host, _, err := net.SplitHostPort(arm.Target)
	if err != nil {
		return wirelab.Errorf(wirelab.InvalidArgument, "arm %s: target %q: want HOST:PORT", arm.Name, arm.Target)
	}
	if host == "127.0.0.1" {
		return nil
	}
	return wirelab.Errorf(wirelab.InvalidArgument,
		"arm %s uses TLS to %s, but through a network's relay at 127.0.0.1, which its certificate does not "+
			"name: give that name with --server-name, or leave --network out", arm.Name, host)
}

// RawFor reports whether there is a raw driver for an arm. It does not report an unknown protocol or operation; that
// is done when the whole plan is checked.
func (l *Lab) RawFor(p plan.Plan, arm plan.Arm) bool {
	if arm.Client != "" {
		return false // the user chose a library
	}
	cell, err := l.Cell(p.Workload, arm.Protocol, arm.Library(), arm.Client)
	return err == nil && catalog.RawCarries(cell, p.Operation) == nil
}

// readSecure is [trust.Read] for an experiment, whose plan is checked several times: it keeps what it has read.
func (l *Lab) readSecure(ctx context.Context, t plan.TLS) (trust.Secured, error) {
	if t == l.secure {
		return l.secured, nil
	}
	read, err := trust.Read(ctx, t, l.Now())
	if err == nil {
		l.secure, l.secured = t, read
	}
	return read, err
}

// checkSecure refuses TLS settings that no arm uses, and invalid files.
func (l *Lab) checkSecure(ctx context.Context, p plan.Plan, arms []wirelab.Cell) error {
	if !p.TLS.Given() {
		return nil
	}
	for i, cell := range arms {
		if p.Arms[i].Target != "" && cell.Protocol.Secure {
			_, err := l.readSecure(ctx, p.TLS)
			return err
		}
	}
	return wirelab.Errorf(wirelab.InvalidArgument,
		"--ca, --cert, --key, --server-name and --insecure are for targets over TLS, and no arm with a target "+
			"uses TLS; "+
			"see wirelab matrix for the protocols that do")
}

// toolCarries returns an error if another load generator cannot drive an arm, as far as that is known before a
// request was recorded.
func toolCarries(cell wirelab.Cell, arm plan.Arm, p plan.Plan) error {
	if cell.Script != nil {
		return scripted(cell, p)
	}
	if arm.Null() && (cell.Null == nil || arm.Inject != "" || arm.Database != "") {
		return wirelab.Errorf(wirelab.InvalidArgument,
			"server=%s: there is no null responder for %s, or the arm gives it work to do; leave server= out, "+
				"or inject= and db=", arm.Server, arm.Protocol)
	}
	if arm.Tool() == "" {
		return nil
	}
	if cell.Protocol.Secure || cell.Protocol.Network != "tcp" || strings.HasPrefix(arm.Target, "unix:") {
		return wirelab.Errorf(wirelab.InvalidArgument, "driver=%s calls only over TCP without TLS, so it cannot call %s",
			arm.Driver, arm.Protocol)
	}
	for _, o := range p.Operations() {
		if slices.Contains(cell.Fresh, o) {
			return wirelab.Errorf(wirelab.InvalidArgument,
				"driver=%s repeats one request, but each request of %s may be sent only once", arm.Driver, o)
		}
	}
	_, err := tool.Named(arm.Tool())
	return err
}

// ArmCell finds the cell of an arm. For an arm without a server, that is a database of the workload.
func (l *Lab) ArmCell(workload string, arm plan.Arm) (wirelab.Cell, error) {
	if !arm.Direct() {
		return l.Cell(workload, arm.Protocol, arm.Library(), arm.Client)
	}
	w, err := l.Work(workload)
	if err != nil {
		return wirelab.Cell{}, err
	}
	at := slices.IndexFunc(w.Direct, func(c wirelab.Cell) bool { return c.Protocol.Name == arm.Protocol })
	if at < 0 {
		return wirelab.Cell{}, wirelab.Errorf(wirelab.InvalidArgument,
			"%s has no statements that %s could run; ledger and logging have some", w.Name, arm.Tool())
	}
	return w.Direct[at], nil
}

// scripted returns an error if the database has no script for a statement of the plan.
func scripted(cell wirelab.Cell, p plan.Plan) error {
	for _, l := range p.Loads {
		if _, err := cell.Script(p.OperationOf(l), p.RequestsOf(l)); err != nil {
			return err
		}
	}
	return nil
}

// describeDriver adds to the description of an arm which program calls, and whether its server is the null responder.
func describeDriver(described *result.Arm, arm plan.Arm) {
	if arm.Raw() {
		described.Driver, described.Client = plan.DriverRaw, plan.DriverRaw
	}
	if arm.Null() {
		described.Server = NullResponder
	}
	if name := arm.Tool(); name != "" {
		described.Driver, described.Client = arm.Driver, name
		if arm.Direct() {
			described.Server, described.Style = "", ""
		}
		described.Floorless = name + " reports no times that could be compared with a floor"
	}
}

// NullResponder is the name of a server that does nothing.
const NullResponder = "null responder"
