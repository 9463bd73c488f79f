package selftest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"wirelab/internal/process"
	"wirelab/lab/control"
	"wirelab/lab/experiment"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/target"
)

// watched is a bench that reports the servers it starts.
type watched struct {
	experiment.Bench
	started func(experiment.Child) (experiment.Child, error)
}

func (b watched) Server(ctx context.Context, arm plan.Arm) (experiment.Child, error) {
	server, err := b.Bench.Server(ctx, arm)
	if err != nil {
		return nil, err
	}
	seen, err := b.started(server)
	if err != nil {
		server.Kill()
		return nil, errors.Join(err, server.Stop())
	}
	return seen, nil
}

// pidOf returns a child's process id.
func pidOf(c experiment.Child) (int, error) {
	p, ok := c.(interface{ PID() int })
	if !ok {
		return 0, errors.New("the child is no process")
	}
	return p.PID(), nil
}

// standstill stops a process for a time, with signals that the process cannot see.
func standstill(ctx context.Context, pid int, after, length time.Duration) error {
	if err := wait(ctx, after); err != nil {
		return err
	}
	if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
		return err
	}
	waited := wait(ctx, length)
	return errors.Join(waited, unix.Kill(pid, unix.SIGCONT)) // in any case the process continues
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// hogs are processes that only use the processor.
type hogs []*target.Process

// startHogs starts n hogs on the given cores; nil for any. Stop all of them together, and before anything else on
// those cores. On Linux 6.18 a thread that was ending on such a core waited behind six hogs for as long as they ran,
// and kept its entries in /proc. The process that waited for it was spinning in waitid(2), in the kernel, because of
// those entries (shrink_dcache_parent).
func startHogs(ctx context.Context, e Env, n int, cpus []int) (hogs, error) {
	var all hogs
	for range n {
		spinner, err := target.Start(ctx, process.Command{Name: "hog", Path: e.Program, Args: []string{"hog"}, CPUs: cpus})
		if err != nil {
			return nil, errors.Join(err, all.stop())
		}
		all = append(all, spinner)
	}
	return all, nil
}

// crowded runs a plan with hogs on each of the driver's cores, or on others, while an arm is measured. They start
// after the warm-up, so that the experiment would have been valid without them.
func (e Env) crowded(ctx context.Context, p plan.Plan, each int,
	on func(result.Placement) []int,
) (r *result.Result, err error) {
	var cpus []int
	placed := func(b experiment.Bench) experiment.Bench {
		cpus = on(b.Placement())
		return b
	}
	var all hogs
	defer func() { err = errors.Join(err, all.stop()) }()
	var failed error
	r, err = e.conduct(ctx, p, placed, func(event experiment.Event) {
		switch {
		case event.Phase == experiment.Measuring && all == nil && failed == nil:
			all, failed = startHogs(ctx, e, each*max(len(cpus), 1), cpus)
		case event.Phase == experiment.Stopping && all != nil:
			failed = errors.Join(failed, all.stop())
			all = nil // the round may be repeated
		}
	})
	return r, errors.Join(err, failed)
}

// stop stops all hogs together: see startHogs.
func (h hogs) stop() error {
	var stopping sync.WaitGroup
	ended := make([]error, len(h))
	for i, spinner := range h {
		stopping.Go(func() { ended[i] = spinner.Stop() })
	}
	stopping.Wait()
	return errors.Join(ended...)
}

// proxied is a server behind a proxy.
type proxied struct {
	experiment.Child
	proxy *proxy
}

func (p proxied) Ready() control.Ready {
	ready := p.Child.Ready()
	ready.Address = p.proxy.listener.Addr().String()
	return ready
}

func (p proxied) Stop() error { return errors.Join(p.Child.Stop(), p.proxy.close()) }

// proxy forwards bytes between a driver and a server, and changes one digit in some of the replies.
type proxy struct {
	listener net.Listener
	upstream string
	every    uint64
	replies  *atomic.Uint64 // number of replies
	changed  *atomic.Uint64

	running sync.WaitGroup
	mu      sync.Mutex // guards open
	open    map[net.Conn]bool
}

func newProxy(upstream string, every uint64, replies, changed *atomic.Uint64) (*proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	p := &proxy{
		listener: listener, upstream: upstream, every: every,
		replies: replies, changed: changed, open: map[net.Conn]bool{},
	}
	p.running.Go(p.accept)
	return p, nil
}

func (p *proxy) accept() {
	for {
		driver, err := p.listener.Accept()
		if err != nil {
			return // the listener was closed
		}
		server, err := net.Dial("tcp", p.upstream)
		if err != nil {
			_ = driver.Close() // the driver sees that the server is not reachable
			continue
		}
		p.hold(driver, server)
		p.running.Go(func() { p.pass(server, driver, nil) })
		p.running.Go(func() { p.pass(driver, server, p.spoil) })
	}
}

func (p *proxy) hold(all ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range all {
		p.open[c] = true
	}
}

// pass copies bytes from one end to the other, one read at a time: with one call in flight, each read from the server
// is a reply.
func (p *proxy) pass(to io.WriteCloser, from io.ReadCloser, change func([]byte)) {
	defer func() { _, _ = to.Close(), from.Close() }() // so that the other direction ends too
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if change != nil && n > 0 {
			change(buffer[:n])
		}
		if _, failed := to.Write(buffer[:n]); failed != nil || err != nil {
			return
		}
	}
}

// spoil changes the last digit of some replies: every parser accepts the byte, but its meaning is different.
func (p *proxy) spoil(reply []byte) {
	if p.replies.Add(1)%p.every != p.every/2 {
		return
	}
	for i := len(reply) - 1; i >= 0; i-- {
		if c := reply[i]; c >= '0' && c <= '9' {
			reply[i] ^= 1 // the result is still a digit
			p.changed.Add(1)
			return
		}
	}
}

// close ends every connection and waits for their goroutines.
func (p *proxy) close() error {
	err := p.listener.Close()
	p.mu.Lock()
	for c := range p.open {
		_ = c.Close() // some are closed already
	}
	p.mu.Unlock()
	p.running.Wait()
	return err
}
