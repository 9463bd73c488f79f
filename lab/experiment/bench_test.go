package experiment_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"wirelab"
	"wirelab/internal/process"
	"wirelab/lab/agent"
	"wirelab/lab/control"
	"wirelab/lab/experiment"
	"wirelab/lab/plan"
	"wirelab/lab/result"
)

// bench runs servers and drivers as goroutines of this process.
type bench struct {
	refuse string // the arm whose server does not start
	pool   *pool  // of all servers; nil: none

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
	cell, err := find(control.Dial{Protocol: arm.Protocol})
	if err != nil {
		return nil, err
	}
	at, ready, err := agent.Listen(cell, "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c := startChild(func(ctx context.Context, in io.Reader, out io.Writer) error {
		var database wirelab.OpenDatabase
		if b.pool != nil {
			database = b.pool
		}
		return agent.Serve(ctx, cell, database, at, ready, in, out)
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	b.servers[arm.Name] = c
	b.all = append(b.all, c)
	return c, c.begin()
}

// Null starts a normal server too: no server here does more than nothing.
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

// child is a goroutine that carries out orders as a process would.
type child struct {
	orders  *io.PipeWriter
	output  *io.PipeReader
	replies *process.Reader[control.Reply]
	ready   control.Ready
	kill    context.CancelFunc
	done    chan struct{}
	err     error // read after done
	killed  atomic.Bool
	began   time.Time
}

func startChild(run func(context.Context, io.Reader, io.Writer) error) *child {
	in, orders := io.Pipe()
	output, out := io.Pipe()
	ctx, kill := context.WithCancel(context.Background())
	c := &child{
		orders: orders, output: output, replies: process.NewReader[control.Reply](output),
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

// Kill ends it as a signal would: it reads and writes no more.
func (c *child) Kill() {
	c.killed.Store(true)
	c.kill()
	c.orders.Close()
	c.output.Close()
}

func (c *child) Ask(_ context.Context, order control.Order) (control.Reply, error) {
	if err := process.WriteLine(c.orders, order); err != nil {
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
	if c.killed.Load() {
		return errors.New("killed")
	}
	return nil
}

// The toy is a service that doubles numbers, over lines of text.

type toy interface {
	Double(ctx context.Context, n number) (number, error)
}

type number int

func (n number) Equal(other number) bool { return n == other }

type doubler struct{}

func (doubler) Double(_ context.Context, n number) (number, error) { return 2 * n, nil }

func find(order control.Dial) (wirelab.Cell, error) {
	return toyOver(order.Protocol, doubler{}), nil
}

func toyOver(protocol string, service toy) wirelab.Cell {
	w := wirelab.Workload[toy]{
		Name: "toy",
		New:  func() toy { return service },
		Operations: []wirelab.Operation[toy]{
			wirelab.Unary("Double", func(r *rand.Rand) number { return number(r.IntN(1000)) }, toy.Double),
		},
		Bindings: []wirelab.Binding[toy]{{
			Protocol: wirelab.Protocol{Name: protocol, Network: "tcp"},
			Servers:  []wirelab.Server[toy]{{Library: "lines", Serve: serveLines(protocol)}},
			Clients:  []wirelab.Dialer[toy]{{Library: "lines", Dial: dialLines}},
		}},
	}
	return w.Erase().Cells[0]
}

func serveLines(how string) func(context.Context, wirelab.Endpoint, toy) error {
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
					switch how {
					case "liar":
						twice++
					case "stalling":
						stalling(ctx, conn)
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

// dialLines opens all connections at once: a caller that gets no CPU time during the warm-up would open its connection
// in the window.
func dialLines(ctx context.Context, to wirelab.Dialing) (toy, io.Closer, error) {
	c := &linesClient{to: to, idle: make(chan net.Conn, to.ConnectionCount())}
	for range to.ConnectionCount() {
		conn, err := to.Open(ctx)
		if err != nil {
			conn = nil // calls report the error
		}
		c.idle <- conn
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
