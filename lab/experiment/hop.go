package experiment

import (
	"context"
	"errors"
	"fmt"
	"time"

	"wirelab/lab/control"
	"wirelab/lab/plan"
	"wirelab/lab/result"
)

// hopped is a server with processes in front of it, each of which receives a call and makes it again.
type hopped struct {
	front Child   // the process that is called
	rest  []Child // those behind it, the server last
}

var _ Parted = (*hopped)(nil)

// hop starts the processes in front of a server. args is the command line of one, without the address that it calls.
func (b *Processes) hop(ctx context.Context, arm plan.Arm, server Child, args []string) (Child, error) {
	way := &hopped{front: server}
	for n := range arm.Hops {
		to := append(append([]string(nil), args...), "--onward", way.front.Ready().Address)
		next, err := start(ctx, b.serving(fmt.Sprintf("hop %d of %s", arm.Hops-n, arm.Name), to))
		if err != nil {
			return nil, errors.Join(err, way.Stop())
		}
		way.rest, way.front = append([]Child{way.front}, way.rest...), next
	}
	return way, nil
}

func (h *hopped) all() []Child { return append([]Child{h.front}, h.rest...) }

// Ready implements [Child]: the first process is called, and all else is what the server reports.
func (h *hopped) Ready() control.Ready {
	ready := h.rest[len(h.rest)-1].Ready()
	ready.Address = h.front.Ready().Address
	return ready
}

// Ask implements [Child]. It supports only the order usage, and replies with the use of all processes and the pool of
// the server.
func (h *hopped) Ask(ctx context.Context, order control.Order) (control.Reply, error) {
	if order.Usage == nil {
		return control.Reply{}, errors.New("a server behind hops knows the order usage only")
	}
	sum := control.Reply{Usage: &result.Usage{}}
	for _, child := range h.all() {
		one, err := child.Ask(ctx, order)
		switch {
		case err != nil:
			return one, err
		case one.Usage == nil:
			return one, errors.New("a process on the way did not report its use")
		}
		sum.Usage.ResidentBytes += one.Usage.ResidentBytes
		sum.Pool = one.Pool // the server is last
	}
	return sum, nil
}

// CPU implements [Child].
func (h *hopped) CPU() (sum time.Duration, all error) {
	for _, child := range h.all() {
		used, err := child.CPU()
		sum, all = sum+used, errors.Join(all, err)
	}
	return sum, all
}

// Parts implements [Parted].
func (h *hopped) Parts() (map[string]time.Duration, error) {
	parts := map[string]time.Duration{}
	for i, child := range h.all() {
		name := fmt.Sprintf("hop %d", i+1)
		if i == len(h.rest) {
			name = "server"
		}
		used, err := child.CPU()
		if err != nil {
			return nil, err
		}
		parts[name] = used
	}
	return parts, nil
}

// Kill implements [Child].
func (h *hopped) Kill() {
	for _, child := range h.all() {
		child.Kill()
	}
}

// Stop implements [Child]. A process stops before the one that it calls.
func (h *hopped) Stop() (all error) {
	for _, child := range h.all() {
		all = errors.Join(all, child.Stop())
	}
	return all
}
