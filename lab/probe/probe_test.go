package probe_test

import (
	"context"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"wirelab"
	"wirelab/lab/probe"
)

// Each allocation is counted, small ones too.
func TestAllocationsAreCounted(t *testing.T) {
	before, err := probe.Self()
	if err != nil {
		t.Fatal(err)
	}
	const n = 10_000
	kept := make([]*int64, n)
	for i := range kept {
		kept[i] = new(int64)
		*kept[i] = int64(i)
	}
	runtime.GC() // the runtime's counters are exact after a collection
	after, err := probe.Self()
	if err != nil {
		t.Fatal(err)
	}
	runtime.KeepAlive(kept)
	used := probe.Since(before, after)
	if *used.Allocations < n || *used.Allocations > 2*n { // reading the counters, and the runtime, allocate too
		t.Errorf("%d allocations counted for %d made", *used.Allocations, n)
	}
	if *used.AllocatedBytes < 8*n || *used.GarbageCycles == 0 || after.ResidentBytes == 0 {
		t.Errorf("used %+v", used)
	}
}

func TestSumsOfUsage(t *testing.T) {
	t.Parallel()
	a, err := probe.Self()
	if err != nil {
		t.Fatal(err)
	}
	sum := a
	probe.Add(&sum, a)
	if probe.Since(a, sum).CPU != a.CPU || sum.ResidentBytes != a.ResidentBytes {
		t.Errorf("%+v twice is %+v", a, sum)
	}
}

func TestEnvironmentIsFilledIn(t *testing.T) {
	t.Parallel()
	env := probe.Environment()
	for name, value := range map[string]string{
		"host": env.Host, "OS": env.OS, "kernel": env.Kernel, "CPU": env.CPU,
		"governor": env.Governor, "clock source": env.ClockSource, "Go": env.Go,
	} {
		if value == "" {
			t.Errorf("%s is empty; what is not known reads unknown", name)
		}
	}
	if env.CPUs < 1 || env.MemoryBytes == 0 {
		t.Errorf("%d CPUs, %d bytes", env.CPUs, env.MemoryBytes)
	}
}

// Noise is the share of the machine that others used.
func TestNoise(t *testing.T) {
	t.Parallel()
	cpus := float64(runtime.NumCPU())
	began := time.Now()
	before := probe.CPUTimes{Busy: 100, Steal: 5, At: began}
	after := probe.CPUTimes{Busy: 100 + 6*cpus, Steal: 5 + cpus, At: began.Add(10 * time.Second)}
	noise := probe.Noise(before, after, time.Duration(2*cpus*float64(time.Second)))
	if !near(noise.Steal, 0.1) || !near(noise.Others, 0.4) {
		t.Errorf("noise %+v, want steal 0.1 and others 0.4", noise)
	}
	if probe.Noise(before, before, 0).Others != 0 {
		t.Error("noise over no time")
	}
	if _, err := probe.ReadCPUTimes(); err != nil {
		t.Error(err)
	}
}

func near(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }

// Every byte through a counted socket is counted, on both kinds of sockets.
func TestSocketsCountBytes(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	echoed := make(chan struct{})
	go func() {
		defer close(echoed)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = io.Copy(conn, conn)
	}()
	var sockets probe.Sockets
	to := sockets.Watch(wirelab.Dialing{Address: listener.Addr().String()})
	conn, err := to.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("x", 1000)
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, make([]byte, 400)); err != nil {
		t.Fatal(err)
	}
	if got, want := sockets.Count(), (wirelab.Traffic{Sent: 1000, Received: 400, Opened: 1, Open: 1}); got != want {
		t.Errorf("counted %+v, want %+v", got, want)
	}
	conn.Close()
	conn.Close()
	<-echoed
	if open := sockets.Count().Open; open != 0 {
		t.Errorf("%d open after closing twice", open)
	}
}

func TestDatagramsAreCounted(t *testing.T) {
	t.Parallel()
	peer, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	var sockets probe.Sockets
	conn, err := sockets.Watch(wirelab.Dialing{}).OpenPackets()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.WriteTo(make([]byte, 70), peer.LocalAddr()); err != nil {
		t.Fatal(err)
	}
	buffer := make([]byte, 100)
	_, from, err := peer.ReadFrom(buffer)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := peer.WriteTo(buffer[:30], from); err != nil {
		t.Fatal(err)
	}
	if _, _, err := conn.ReadFrom(buffer); err != nil {
		t.Fatal(err)
	}
	if got, want := sockets.Count(), (wirelab.Traffic{Sent: 70, Received: 30, Opened: 1, Open: 1}); got != want {
		t.Errorf("counted %+v, want %+v", got, want)
	}
}

// A connection that fails is not counted.
func TestFailedDialIsNotCounted(t *testing.T) {
	t.Parallel()
	var sockets probe.Sockets
	to := sockets.Watch(wirelab.Dialing{Connect: func(context.Context, string, string) (net.Conn, error) {
		return nil, io.ErrClosedPipe
	}})
	if _, err := to.Open(t.Context()); err == nil || sockets.Count().Opened != 0 {
		t.Errorf("error %v, count %+v", err, sockets.Count())
	}
}
