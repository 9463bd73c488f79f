package hosts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"wirelab"
	"wirelab/internal/fault"
	"wirelab/internal/process"
	"wirelab/lab/control"
	"wirelab/lab/probe"
	"wirelab/lab/target"
)

// Host is a machine's side: it starts children for runners, and hands on what they say.
type Host struct {
	Info Info
	// Program is the path of wirelab, which children are.
	Program string
	// Noise reads what the machine's processors did so far.
	Noise func() (probe.CPUTimes, error)
	// Tell is called for every child that starts or ends; nil: it is not called.
	Tell func(text string)
	// Now reads the clock; nil: the machine's. A test sets it wrong.
	Now func() time.Time

	nc *nats.Conn

	mu       sync.Mutex // guards all below
	children map[string]*hosted
	closed   bool
	running  sync.WaitGroup // whatever was started for a runner
}

// hosted is a child, and how long it may live without a sign of its runner.
type hosted struct {
	id, name string
	process  *target.Process
	subs     []*nats.Subscription
	asking   sync.Mutex // one order at a time

	mu    sync.Mutex // guards until
	until time.Time
}

func (c *hosted) prolong(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if until := time.Now().Add(by); until.After(c.until) {
		c.until = until
	}
}

func (c *hosted) left() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Until(c.until)
}

// Run answers runners until ctx ends; then every child is killed. It does not return because NATS is away for a while:
// children then end with their lease, and the host comes back when NATS does.
func (h *Host) Run(ctx context.Context, nc *nats.Conn) error {
	h.nc, h.children = nc, map[string]*hosted{}
	if h.Now == nil {
		h.Now = time.Now
	}
	ctx, stop := context.WithCancel(ctx)
	defer func() {
		h.mu.Lock()
		h.closed = true
		h.mu.Unlock()
		stop()
		h.running.Wait()
	}()
	for subject, serve := range map[string]func(*nats.Msg) answer{
		everyHost:                        func(*nats.Msg) answer { return h.said(h.info()) },
		hostSubject(h.Info.Name, "info"): func(*nats.Msg) answer { return h.said(h.info()) },
		hostSubject(h.Info.Name, "noise"): func(*nats.Msg) answer {
			times, err := h.Noise()
			if err != nil {
				return failed(err)
			}
			return h.said(times)
		},
		hostSubject(h.Info.Name, "start"): nil,
	} {
		handle := func(m *nats.Msg) { reply(m, serve(m)) }
		if serve == nil {
			handle = func(m *nats.Msg) { h.begin(ctx, m) }
		}
		sub, err := nc.Subscribe(subject, handle)
		if err != nil {
			return err
		}
		defer func() { _ = sub.Unsubscribe() }() // the connection may be gone
	}
	// Read first and written last, with nothing in between.
	clock, err := nc.Subscribe(hostSubject(h.Info.Name, "clock"), func(m *nats.Msg) {
		_ = m.Respond(strconv.AppendInt(nil, h.Now().UnixNano(), 10)) // who asks waits for no more than its limit
	})
	if err != nil {
		return err
	}
	defer func() { _ = clock.Unsubscribe() }()
	if err := h.alone(ctx); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// alone refuses to be the second host of a name: both would start every child.
func (h *Host) alone(ctx context.Context) error {
	if err := flush(ctx, h.nc); err != nil {
		return err
	}
	infos, err := gather(ctx, h.nc, hostSubject(h.Info.Name, "info"), gatherTime)
	if err != nil {
		return err
	}
	if len(infos) > 1 {
		return wirelab.Errorf(wirelab.Conflict, "another host is called %s: give this one another --name", h.Info.Name)
	}
	return nil
}

func (h *Host) info() Info {
	h.mu.Lock()
	defer h.mu.Unlock()
	info := h.Info
	info.Children = len(h.children)
	return info
}

func (h *Host) said(value any) answer {
	text, err := json.Marshal(value)
	if err != nil {
		return failed(err)
	}
	return answer{Said: text}
}

func failed(err error) answer { return answer{Error: fault.Text(err)} }

// reply answers a message. Who asked has stopped waiting if it cannot be sent.
func reply(m *nats.Msg, a answer) {
	text, err := json.Marshal(a)
	if err == nil {
		err = m.Respond(text)
	}
	if err != nil && !errors.Is(err, nats.ErrMaxPayload) {
		return
	}
	if err != nil {
		why := fmt.Sprintf("a reply of %d bytes is too long for NATS: raise max_payload", len(text))
		text, _ = json.Marshal(answer{Error: why}) // a text always can be
		_ = m.Respond(text)
	}
}

func (h *Host) tell(format string, args ...any) {
	if h.Tell != nil {
		h.Tell(fmt.Sprintf(format, args...))
	}
}

// begin starts a child in a new goroutine: a server takes long to be ready, and other requests must not wait.
func (h *Host) begin(ctx context.Context, m *nats.Msg) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		reply(m, failed(wirelab.Errorf(wirelab.Unavailable, "host %s is leaving", h.Info.Name)))
		return
	}
	var order start
	if err := json.Unmarshal(m.Data, &order); err != nil {
		reply(m, failed(wirelab.Errorf(wirelab.InvalidArgument, "host %s: %v", h.Info.Name, err)))
		return
	}
	if err := h.refuse(order); err != nil {
		reply(m, failed(err))
		return
	}
	c := &hosted{id: order.ID, name: string(order.Role) + " on " + h.Info.Name}
	h.children[c.id] = c // now, so that the bound holds while it starts
	h.running.Go(func() {
		defer h.forget(c)
		h.child(ctx, c, order, m)
	})
}

// refuse tells why a child is not started; h.mu is held.
func (h *Host) refuse(order start) error {
	switch _, known := h.children[order.ID]; {
	case nameForm.MatchString(order.ID) && known:
		return wirelab.Errorf(wirelab.Conflict, "host %s has a child %s", h.Info.Name, order.ID)
	case !nameForm.MatchString(order.ID):
		return wirelab.Errorf(wirelab.InvalidArgument, "host %s: %q is no id of a child", h.Info.Name, order.ID)
	case !h.Info.plays(order.Role):
		return wirelab.Errorf(wirelab.InvalidArgument, "host %s is no %s: it joined as %v",
			h.Info.Name, order.Role, h.Info.Roles)
	case !h.Info.Build.Same(order.Build):
		return wirelab.Errorf(wirelab.InvalidArgument,
			"host %s runs wirelab %s (%s), this is %s (%s): install the same on both", h.Info.Name,
			h.Info.Build.Version, short(h.Info.Build.Program), order.Build.Version, short(order.Build.Program))
	case len(h.children) >= childrenMost:
		return wirelab.Errorf(wirelab.ResourceExhausted, "host %s has %d children, and takes no more", h.Info.Name,
			childrenMost)
	}
	_, err := h.arguments(order)
	return err
}

// short is the beginning of a digest, enough to see that two differ.
func short(digest string) string { return digest[:min(len(digest), 12)] }

// arguments is the command line of a child: only names go into it, none of which can be taken for a flag.
func (h *Host) arguments(order start) ([]string, error) {
	if order.Role == Driver {
		return []string{"drive"}, nil
	}
	s := order.Serve
	if s == nil {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "host %s: a server of nothing", h.Info.Name)
	}
	for _, name := range []string{s.Workload, s.Protocol, s.Library, s.Data} {
		if name != "" && !wordForm.MatchString(name) {
			return nil, wirelab.Errorf(wirelab.InvalidArgument, "host %s: %q is no name", h.Info.Name, name)
		}
	}
	args := []string{"serve", s.Workload, s.Protocol, "--addr", h.Info.Address + ":0", "--controlled"}
	for _, flag := range [][2]string{{"--server=", s.Library}, {"--data=", s.Data}, {"--inject=", s.Inject}} {
		if flag[1] != "" {
			args = append(args, flag[0]+flag[1])
		}
	}
	if s.Null {
		args = append(args, "--null")
	}
	return args, nil
}

// child starts a child and answers for it. It ends the child on request, when its lease is over, or with the host.
func (h *Host) child(ctx context.Context, c *hosted, order start, m *nats.Msg) {
	args, err := h.arguments(order)
	if err != nil {
		reply(m, failed(err))
		return
	}
	starting, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	c.process, err = target.Start(starting, process.Command{Name: c.name, Path: h.Program, Args: args})
	if err != nil {
		reply(m, failed(err))
		return
	}
	h.tell("%s %s started, process %d", c.name, c.id, c.process.PID())
	c.prolong(Lease)
	ended := make(chan struct{})
	if err := h.listen(ctx, c, ended); err != nil {
		c.process.Kill()
		_ = c.process.Stop() // it was killed
		reply(m, failed(err))
		return
	}
	reply(m, h.said(c.process.Ready()))
	why := h.hold(ctx, c, ended)
	for _, sub := range c.subs {
		_ = sub.Unsubscribe()
	}
	c.process.Kill()
	c.asking.Lock() // an order that is being carried out fails now
	defer c.asking.Unlock()
	_ = c.process.Stop() // its last words went to who asked last
	h.tell("%s %s ended: %s", c.name, c.id, why)
}

// startTime is how long a child may take to be ready.
const startTime = 30 * time.Second

// stopped is why most children end.
const stopped = "its runner stopped it"

// hold waits until a child is to end, and says why.
func (h *Host) hold(ctx context.Context, c *hosted, ended <-chan struct{}) string {
	for {
		lease := time.NewTimer(c.left())
		select {
		case <-ctx.Done():
			lease.Stop()
			return "the host leaves"
		case <-ended:
			lease.Stop()
			return stopped
		case <-c.process.Done():
			lease.Stop()
			return c.end(ctx, ended)
		case <-lease.C:
			if c.left() <= 0 {
				return fmt.Sprintf("its runner was silent for %v", Lease)
			}
		}
	}
}

// end says why a child whose process has ended did so. A stop is confirmed only after that.
func (c *hosted) end(ctx context.Context, ended <-chan struct{}) string {
	told := time.NewTimer(Lease)
	defer told.Stop()
	select {
	case <-ended:
		return stopped
	case <-told.C:
		return "by itself"
	case <-ctx.Done():
		return "the host leaves"
	}
}

// listen subscribes to the requests for a child. ended is closed when it was stopped.
func (h *Host) listen(ctx context.Context, c *hosted, ended chan struct{}) error {
	var once sync.Once
	for what, serve := range map[string]func(*nats.Msg) answer{
		"ask": func(m *nats.Msg) answer { return h.ask(ctx, c, m) },
		"cpu": func(*nats.Msg) answer {
			used, err := process.CPU(c.process.PID())
			if err != nil {
				return failed(err)
			}
			return answer{CPU: used}
		},
		"beat": func(*nats.Msg) answer {
			c.prolong(Lease)
			return answer{}
		},
		"stop": func(m *nats.Msg) answer {
			c.prolong(stopTime)
			if string(m.Data) == killWord {
				c.process.Kill()
			}
			defer once.Do(func() { close(ended) })
			c.asking.Lock() // an order that is being carried out ends when a killed child does
			defer c.asking.Unlock()
			if err := c.process.Stop(); err != nil {
				return failed(fmt.Errorf("%s: %w", c.name, err))
			}
			return answer{}
		},
	} {
		sub, err := h.nc.Subscribe(childSubject(c.id, what), func(m *nats.Msg) { reply(m, serve(m)) })
		if err != nil {
			return err
		}
		c.subs = append(c.subs, sub)
	}
	return flush(ctx, h.nc)
}

// killWord is what a stop says that is to be at once.
const killWord = "kill"

// stopTime is how long a child may take to stop: more than package target gives it.
const stopTime = 75 * time.Second

// ask hands an order on, and returns the reply. While the order is carried out, the runner's beats extend the lease.
func (h *Host) ask(ctx context.Context, c *hosted, m *nats.Msg) answer {
	var a ask
	var order control.Order
	err := json.Unmarshal(m.Data, &a)
	if err == nil {
		err = json.Unmarshal(a.Order, &order)
	}
	if err != nil {
		return failed(wirelab.Errorf(wirelab.InvalidArgument, "host %s: %v", h.Info.Name, err))
	}
	c.prolong(min(max(0, a.Quiet), quietMost+startMargin) + Lease)
	c.asking.Lock()
	defer c.asking.Unlock()
	said, err := c.process.Ask(ctx, order)
	if err != nil {
		return failed(err)
	}
	return h.said(said)
}

func (h *Host) forget(c *hosted) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.children, c.id)
}
