package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"time"

	"wirelab"
	"wirelab/internal/certs"
	"wirelab/internal/fault"
	"wirelab/lab/control"
	"wirelab/lab/load"
	"wirelab/lab/probe"
	"wirelab/lab/result"
)

// goldenCalls is how many calls each load makes and checks after it is dialled and before it is warmed up. A cell that
// answers wrongly is not measured.
const goldenCalls = 16

// Drive carries out a runner's orders to drive cells until in ends or ctx is done: see [Obey]. It calls find to look up
// the cell that an order names.
func Drive(ctx context.Context, find Finder, in io.Reader, out io.Writer) error {
	self := probe.NewAccount()
	return Obey(ctx, self, func(ctx context.Context, order control.Dial) ([]Load, error) {
		return dialCell(ctx, find, self, order)
	}, in, out)
}

// Finder finds the cell that an order names, by workload, protocol and the libraries at both ends. An empty library is
// the default one. If the order describes an external service, the cell is one over that service.
type Finder func(order control.Dial) (wirelab.Cell, error)

// trusting sets up TLS as an order says.
func trusting(to *wirelab.Dialing, order control.Dial) (err error) {
	if order.Authority != "" {
		if to.Roots, err = certs.Trust([]byte(order.Authority)); err != nil {
			return err
		}
	}
	if t := order.TLS; t != nil {
		to.ServerName, to.Insecure = t.ServerName, t.Insecure
		to.Certificates, err = certs.Show([]byte(t.Certificate), []byte(t.Key))
	}
	return err
}

// dialCell connects every load and checks that the cell answers correctly.
func dialCell(ctx context.Context, find Finder, self *probe.Account, order control.Dial) (loads []Load, err error) {
	cell, err := find(order)
	if err != nil {
		return nil, err
	}
	if cell, err = cell.With(order.Data); err != nil {
		return nil, err
	}
	secured, reached := &met{}, &met{}
	to := wirelab.Dialing{Address: order.Address, Foreign: order.Target, Secured: secured.secure}
	if order.Target {
		to.Met = reached.reach
	}
	if err := trusting(&to, order); err != nil {
		return nil, err
	}
	if cell.Protocol.Network == "tcp" && !strings.HasPrefix(order.Address, "unix:") {
		to.Next = inTurn(ctx, net.DefaultResolver.LookupHost, order.Address, order.Seed)
	}
	if order.Tool != "" {
		return dialTool(ctx, cell, to, order, self)
	}
	if order.Described {
		if cell, err = describe(ctx, find, cell, to, order); err != nil {
			return nil, err
		}
		to.Foreign, order.Raw = true, true
	}
	f := newFollower(order)
	var prepare preparer = prepareRaw
	if !order.Raw {
		prepare = func(ctx context.Context, cell wirelab.Cell, to wirelab.Dialing, order control.Dial, l control.Load,
			seeds *rand.Rand,
		) (*prepared, error) {
			return prepareClients(ctx, cell, to, order, l, seeds, f)
		}
	}
	seeds := rand.New(rand.NewPCG(order.Seed, 0x6472697665)) // the second word separates this use of the seed
	all := make([]*prepared, len(order.Loads))
	for i, l := range order.Loads {
		if at := slices.IndexFunc(order.Loads[:i], func(other control.Load) bool { return alike(other, l) }); at >= 0 {
			all[i] = all[at].under(l.Schedule)
			loads = append(loads, all[i])
			continue
		}
		prepare := prepare
		if other := preparers()[l.Kind]; other != nil {
			prepare = other
		}
		p, err := prepare(ctx, cell, to, order, l, seeds)
		if p != nil {
			p.Self, p.tls, p.reached = self, secured, reached
			p.Plan = load.Plan{
				Schedule: l.Schedule, Deadline: time.Duration(order.Deadline), Classify: classify,
				Cause: Cause, Tell: fault.Text, Own: order.Own, Watch: p.watch,
			}
			all[i], loads = p, append(loads, p)
		}
		if err == nil {
			err = p.do.check(ctx, p)
		}
		if err != nil {
			return loads, underLoad(i, len(order.Loads), err)
		}
	}
	return loads, nil
}

// underLoad adds to an error which of several loads it is about.
func underLoad(i, of int, err error) error {
	if of == 1 {
		return err
	}
	return fmt.Errorf("load %d of %d: %w", i+1, of, err)
}

// alike reports whether two loads differ only in when calls are due. Such loads share their connections and callers,
// since they never run at the same time. Otherwise sixteen rates would hold sixteen times as many of both.
func alike(a, b control.Load) bool {
	a.Schedule, b.Schedule = nil, nil
	return a == b
}

// under returns the same load on another schedule. Its shared connections are closed by the first load only.
func (p *prepared) under(s *load.Schedule) *prepared {
	other := *p
	other.open = nil
	other.Plan.Schedule = s
	return &other
}

// classify returns the class of a failed call: its code, or that the reply was wrong.
func classify(err error) string {
	var wrong *wirelab.Mismatch
	if errors.As(err, &wrong) {
		return result.WrongReply
	}
	return wirelab.CodeOf(err).String()
}

// Cause returns the cause of a failed call, for [load.Plan].
func Cause(err error) string {
	var wrong *wirelab.Mismatch
	if errors.As(err, &wrong) {
		return result.WrongReply
	}
	return string(wirelab.CauseOf(err))
}

// Pace implements [Pacer].
func (p *prepared) Pace() time.Duration { return p.pace }

// first says which of the first calls failed. Nothing is measured after that.
func first(i int, what string, err error) error {
	if i == 0 {
		return fmt.Errorf("the first %s failed: %w", what, err)
	}
	return fmt.Errorf("%s %d of the first failed: %w", what, i+1, err)
}

// Warm implements [Load].
func (p *prepared) Warm(ctx context.Context, order control.Warm, served Served) (*load.Warmth, error) {
	return p.do.warm(ctx, p, order, served)
}

// Slice implements [Load].
func (p *prepared) Slice(ctx context.Context, order control.Slice) (*control.Measured, error) {
	return p.do.slice(ctx, p, order)
}

// Close implements [Load].
func (p *prepared) Close() (all error) {
	for _, c := range p.open {
		all = errors.Join(all, c.Close())
	}
	return all
}
