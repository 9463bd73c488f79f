package hosts

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"wirelab/internal/certs"
	"wirelab/internal/process"
	"wirelab/lab/control"
	"wirelab/lab/load"
	"wirelab/lab/plan"
	"wirelab/lab/probe"
	"wirelab/lab/result"
	system "wirelab/system/nats"
	"wirelab/system/nats/server"
)

// The test binary is its own child: as a server or a driver it replies to every order at once, or as its name says.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == "serve" || os.Args[1] == "drive") {
		play(os.Args[1:])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func play(args []string) {
	_ = process.WriteLine(os.Stdout, control.Reply{Ready: &control.Ready{Address: strings.Join(args, " ")}})
	orders := process.NewReader[control.Order](os.Stdin)
	for {
		order, err := orders.Read()
		if err != nil {
			return
		}
		reply := control.Reply{}
		switch {
		case order.Usage != nil:
			reply.Usage = &result.Usage{CPU: 5}
		case order.Dial != nil:
			reply.Dialled = &control.Dialled{Pace: plan.Duration(order.Dial.Loads[0].InFlight), TLS: []string{"1.3"}}
		case order.Warm != nil:
			reply.Warm = &load.Warmth{Steady: order.Warm.Load == 0, Took: time.Second}
		case order.Slice != nil && time.Until(time.Unix(0, order.Slice.At)) > 10*time.Second:
			reply.Error = "the clocks do not agree" // as a driver says it
		case order.Slice != nil:
			reply.Slice = slice(*order.Slice)
		}
		if process.WriteLine(os.Stdout, reply) != nil {
			return
		}
	}
}

// slice measures nothing, from the moment that was ordered on, for as long as was ordered.
func slice(order control.Slice) *control.Measured {
	time.Sleep(time.Until(time.Unix(0, order.At)))
	r := load.NewRecording()
	r.Began, r.Window, r.Workers = time.Now(), time.Duration(order.For), 1
	share := uint64(1)
	if order.Schedule != nil {
		share += uint64(order.Schedule.Share.Index)
	}
	for i := range share {
		r.Response.Record(int64(1000 * (i + 1)))
		r.Service.Record(int64(1000 * (i + 1)))
	}
	r.Planned, r.Sent, r.OK = share, share, share
	time.Sleep(time.Until(time.Unix(0, order.At).Add(time.Duration(order.For))))
	return &control.Measured{Recording: r, Calls: share, Usage: result.Usage{CPU: 7, Wall: 100}}
}

// lab is NATS with hosts.
type lab struct {
	t    *testing.T
	key  string
	url  string
	stop func() // of NATS
}

const testKey = "a key that is long enough"

// newLab starts NATS in this process.
func newLab(t *testing.T) *lab {
	t.Helper()
	return newLabWith(t, system.Options{})
}

func newLabWith(t *testing.T, o system.Options) *lab {
	t.Helper()
	o.Password, o.Directory = testKey, t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	ready, over := make(chan string, 1), make(chan error, 1)
	go func() {
		over <- server.Run(ctx, o, nil,
			func(url string) { ready <- url })
	}()
	l := &lab{t: t, key: testKey, stop: sync.OnceFunc(func() {
		cancel()
		<-over
	})}
	t.Cleanup(l.stop)
	select {
	case url := <-ready:
		l.url = "nats://" + url[strings.IndexByte(url, '@')+1:]
	case err := <-over:
		over <- err
		t.Fatal(err)
	}
	return l
}

// connect connects to it; the connection ends with the test.
func (l *lab) connect(name string, lasting bool) *nats.Conn {
	l.t.Helper()
	nc, err := Connect(l.t.Context(), Access{URL: l.url, Key: l.key, Name: name, Lasting: lasting})
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(nc.Close)
	return nc
}

var testBuild = Build{Version: "v1", Program: "abc"}

// join lets a host join, and returns how it leaves.
func (l *lab) join(name string, change func(*Host)) (nc *nats.Conn, leave func()) {
	l.t.Helper()
	nc = l.connect(name, true)
	program, err := os.Executable()
	if err != nil {
		l.t.Fatal(err)
	}
	h := &Host{
		Info: Info{
			Name: name, Roles: Roles(), Build: testBuild, Address: "127.0.0.1", Machine: name,
			Environment: result.Environment{CPUs: 2},
		},
		Program: program, Noise: func() (probe.CPUTimes, error) { return probe.CPUTimes{CPUs: 2, Busy: 1}, nil },
	}
	if change != nil {
		change(h)
	}
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- h.Run(ctx, nc) }()
	leave = sync.OnceFunc(func() {
		cancel()
		if err := <-over; err != nil {
			l.t.Error(err)
		}
	})
	l.t.Cleanup(leave)
	f := NewFleet(l.connect("look", false), testBuild)
	eventually(l.t, func() error {
		all, err := f.List(l.t.Context())
		for _, info := range all {
			if info.Name == name {
				return nil
			}
		}
		return fmt.Errorf("%s has not joined: %v %w", name, all, err)
	})
	return nc, leave
}

// eventually waits for a condition; the limit only ends a test that has failed.
func eventually(t *testing.T, holds func() error) {
	t.Helper()
	var err error
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if err = holds(); err == nil {
			return
		}
	}
	t.Fatal(err)
}

// gone waits until a process has ended.
func gone(t *testing.T, pid int) {
	t.Helper()
	eventually(t, func() error {
		if err := syscall.Kill(pid, 0); err == nil {
			return fmt.Errorf("process %d lives", pid)
		}
		return nil
	})
}

// pidOf is a child's process, as its host knows it.
func pidOf(t *testing.T, h *Host, c *child) int {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	held := h.children[c.id]
	if held == nil || held.process == nil {
		t.Fatal("the host has no such child")
	}
	return held.process.PID()
}

func (l *lab) fleet() *Fleet { return NewFleet(l.connect("runner", false), testBuild) }

// observed is a message that was sent.
type observed struct {
	subject string
	at      time.Time // when it was seen
}

// observe records the messages from now on, until stop.
func (l *lab) observe() (stop func() []observed) {
	l.t.Helper()
	nc := l.connect("observer", false)
	var mu sync.Mutex
	var all []observed
	sub, err := nc.Subscribe("wirelab.>", func(m *nats.Msg) {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, observed{m.Subject, time.Now()})
	})
	if err == nil {
		err = flush(l.t.Context(), nc) // then the server knows the subscription
	}
	if err != nil {
		l.t.Fatal(err)
	}
	return func() []observed {
		_ = sub.Unsubscribe()
		mu.Lock()
		defer mu.Unlock()
		return all
	}
}

func infos(names ...string) (all []Info) {
	for _, name := range names {
		all = append(all, Info{Name: name})
	}
	return all
}

// Several drivers take one order and give one reply, whose counts are sums; nothing is sent while they measure.
func TestDriversAreOne(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for _, name := range []string{"d1", "d2", "d3"} {
		l.join(name, nil)
	}
	f := l.fleet()
	d, err := f.drive(t.Context(), infos("d1", "d2", "d3"))
	if err != nil {
		t.Fatal(err)
	}
	reply, err := d.Ask(t.Context(), control.Order{Dial: &control.Dial{Loads: []control.Load{{InFlight: 7}}}})
	if err != nil || reply.Dialled.Pace != 3 || len(reply.Dialled.TLS) != 1 {
		t.Errorf("dialled: %+v, %v", reply.Dialled, err)
	}
	reply, err = d.Ask(t.Context(), control.Order{Warm: &control.Warm{Load: 1}})
	if err != nil || reply.Warm == nil || reply.Warm.Steady {
		t.Errorf("warmed up: %+v, %v", reply.Warm, err)
	}
	reply, err = d.Ask(t.Context(), control.Order{Usage: &struct{}{}})
	if err != nil || reply.Usage.CPU != 15 {
		t.Errorf("used: %+v, %v", reply.Usage, err)
	}
	stop := l.observe()
	const length = 2 * time.Second
	order := control.Slice{For: plan.Duration(length), Schedule: load.PoissonRate(5, 1)}
	reply, err = d.Ask(t.Context(), control.Order{Slice: &order})
	if err != nil {
		t.Fatal(err)
	}
	all := stop()
	r := reply.Slice.Recording
	if r.OK != 6 || r.Response.Count() != 6 || r.Workers != 3 || reply.Slice.Calls != 6 || reply.Slice.Usage.CPU != 21 {
		t.Errorf("joined: %+v", reply.Slice)
	}
	if len(reply.Slice.Drivers) != 3 || reply.Slice.Drivers[2].Host != "d3" || reply.Slice.Drivers[2].OK != 3 {
		t.Errorf("by driver: %+v", reply.Slice.Drivers)
	}
	// What one connection sends is seen in its order: whatever follows the last order, and was seen before the slice
	// was over, was sent in it.
	asked := 0
	for _, one := range all {
		switch {
		case strings.HasSuffix(one.subject, ".ask"):
			asked++
		case asked == 3 && one.at.Before(r.Began.Add(length)):
			t.Errorf("%s was sent %v into the slice", one.subject, one.at.Sub(r.Began))
		}
	}
	if asked != 3 {
		t.Errorf("the observer saw %d orders, want 3: %v", asked, all)
	}
	if err := d.Stop(); err != nil {
		t.Error(err)
	}
}

// Whatever dies, no child outlives the lease, and the error names the host that is gone.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dies  string
		kill  func(l *lab, f *Fleet, host *nats.Conn, leave func())
		names string // in the error of the next order; "" where there is no runner left
	}{
		{"runner", func(_ *lab, f *Fleet, _ *nats.Conn, _ func()) { f.nc.Close() }, ""},
		{"host", func(_ *lab, _ *Fleet, _ *nats.Conn, leave func()) { leave() }, "s1"},
		{"link of the host", func(_ *lab, _ *Fleet, host *nats.Conn, _ func()) { host.Close() }, "s1"},
		{"NATS", func(l *lab, _ *Fleet, _ *nats.Conn, _ func()) { l.stop() }, "s1"},
	} {
		t.Run(c.dies, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			var host *Host
			nc, leave := l.join("s1", func(h *Host) { host = h })
			f := l.fleet()
			one, err := f.begin(t.Context(), Info{Name: "s1"}, Server, &Serve{Workload: "w", Protocol: "p"})
			if err != nil {
				t.Fatal(err)
			}
			pid := pidOf(t, host, one)
			c.kill(l, f, nc, leave)
			gone(t, pid)
			_, err = one.Ask(t.Context(), control.Order{Usage: &struct{}{}})
			if err == nil || !strings.Contains(err.Error(), c.names) {
				t.Errorf("after the death of the %s an order says: %v", c.dies, err)
			}
			one.Kill()
		})
	}
}

// A host starts only what it is for, of the same version, and no name becomes a flag.
func TestHostRefuses(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.join("s1", func(h *Host) { h.Info.Roles = []Role{Server} })
	f := l.fleet()
	good := Serve{
		Workload: "routeguide", Protocol: "grpc", Library: "grpc-go", Data: "100", Inject: "constant 20ms", Null: true,
	}
	one, err := f.begin(t.Context(), Info{Name: "s1"}, Server, &good)
	if err != nil {
		t.Fatal(err)
	}
	const args = "serve routeguide grpc --addr 127.0.0.1:0 --controlled --server=grpc-go --data=100 " +
		"--inject=constant 20ms --null"
	if got := one.Ready().Address; got != args {
		t.Errorf("started with %q, want %q", got, args)
	}
	if err := one.Stop(); err != nil {
		t.Error(err)
	}
	other := NewFleet(f.nc, Build{Version: "v2", Program: "def"})
	for what, start := range map[string]func() (*child, error){
		"is no driver": func() (*child, error) { return f.begin(t.Context(), Info{Name: "s1"}, Driver, nil) },
		"install the same on both": func() (*child, error) {
			return other.begin(t.Context(), Info{Name: "s1"}, Server, &good)
		},
		"is no name": func() (*child, error) {
			return f.begin(t.Context(), Info{Name: "s1"}, Server, &Serve{Workload: "w", Protocol: "--onward"})
		},
		"a server of nothing": func() (*child, error) { return f.begin(t.Context(), Info{Name: "s1"}, Server, nil) },
		"is gone":             func() (*child, error) { return f.begin(t.Context(), Info{Name: "s2"}, Server, &good) },
	} {
		if _, err := start(); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("want an error that says %q: %v", what, err)
		}
	}
	for _, line := range []string{"", "{", `{"id":"../x","role":"server"}`, `{"id":"a","role":"sh -c true"}`, "[1]"} {
		if a, err := f.exchange(t.Context(), "s1", hostSubject("s1", "start"), []byte(line)); err == nil {
			t.Errorf("%q was taken: %+v", line, a)
		}
	}
}

// A host of a name that is taken does not join, so that no child is started twice.
func TestNamesAreTakenOnce(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.join("d1", nil)
	h := &Host{Info: Info{Name: "d1", Roles: Roles()}}
	err := h.Run(t.Context(), l.connect("second", true))
	if err == nil || !strings.Contains(err.Error(), "another host is called d1") {
		t.Errorf("a second d1 joined: %v", err)
	}
}

// A clock that is wrong is corrected or refused.
func TestWrongClocks(t *testing.T) {
	t.Parallel()
	for _, by := range []time.Duration{time.Millisecond, -time.Millisecond, 3 * time.Minute, -3 * time.Minute} {
		t.Run(by.String(), func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.join("d1", func(h *Host) { h.Now = func() time.Time { return time.Now().Add(by) } }) // its children's is right
			l.join("d2", nil)
			f := l.fleet()
			clock, err := f.Clock(t.Context(), "d1", 64)
			if err != nil || (clock.Offset-by).Abs() > clock.Uncertainty {
				t.Errorf("the clock is off by %v ± %v, %v; want %v", clock.Offset, clock.Uncertainty, err, by)
			}
			d, err := f.drive(t.Context(), infos("d1", "d2"))
			if err != nil {
				t.Fatal(err)
			}
			defer d.Kill()
			_, err = d.Ask(t.Context(), control.Order{Slice: &control.Slice{For: plan.Duration(time.Second)}})
			if refused := err != nil; by.Abs() > time.Second && !refused {
				t.Errorf("a clock that is off by %v is believed: %v", by, err)
			}
		})
	}
}

func TestStrangersCannotConnect(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for _, key := range []string{"", "another key, as long"} {
		if nc, err := Connect(t.Context(), Access{URL: l.url, Key: key}); err == nil {
			nc.Close()
			t.Errorf("the key %q opens", key)
		}
	}
	for url, says := range map[string]string{
		"nats://10.1.2.3:4222": "needs TLS", "tls://10.1.2.3:4222": "needs a key", "http://127.0.0.1": "want nats://",
		"nats://user:secret@127.0.0.1:4222": "has a password in it", "nats://": "want nats://", "::": "want nats://",
	} {
		_, err := Connect(t.Context(), Access{URL: url})
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %q", url, err, says)
		}
	}
}

// Over TLS a server with the wrong authority is refused, and so is one that shows no certificate.
func TestTLS(t *testing.T) {
	t.Parallel()
	certificate, authority, err := certs.Issue("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	l := newLabWith(t, system.Options{
		Key:         string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})),
		Certificate: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]})),
	})
	secure := strings.Replace(l.url, "nats://", "tls://", 1)
	_, another, err := certs.Issue("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, url, authority string
		want                 bool
	}{
		{"trusted", secure, string(authority), true},
		{"another authority", secure, string(another), false},
		{"the system's authorities", secure, "", false},
		{"no PEM", secure, "none", false},
		{"a server without TLS", strings.Replace(newLab(t).url, "nats://", "tls://", 1), string(authority), false},
	} {
		nc, err := Connect(t.Context(), Access{URL: c.url, Key: testKey, Authority: c.authority})
		if err == nil {
			nc.Close()
		}
		if (err == nil) != c.want {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
