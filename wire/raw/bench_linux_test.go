package raw_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wirelab"
)

// serveVariable names the cell that the test binary is to serve, as
// "protocol/library", until its input ends.
const serveVariable = "WIRELAB_RAW_SERVE"

func serveAlone(name string) int {
	protocol, library, _ := strings.Cut(name, "/")
	cell := one(new(testing.T), protocol, library)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 1
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	if _, err := fmt.Fprintln(os.Stdout, listener.Addr()); err != nil {
		return 1
	}
	if err := cell.Serve(ctx, wirelab.Endpoint{Listener: listener}); err != nil {
		return 1
	}
	return 0
}

// spawn serves a cell in a process on the last core.
func spawn(b *testing.B, name string) string {
	b.Helper()
	server := exec.Command(os.Args[0]) //nolint:gosec // ourselves
	server.Env = append(os.Environ(), serveVariable+"="+name)
	server.Stderr = os.Stderr
	in, err := server.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := server.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	// A child has the affinity of the thread that makes it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, last unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		b.Fatal(err)
	}
	last.Set(runtime.NumCPU() - 1)
	if runtime.NumCPU() == 1 {
		last.Set(1) // we were pinned to the first
	}
	_ = unix.SchedSetaffinity(0, &last) // with one core there is no other
	err = server.Start()
	_ = unix.SchedSetaffinity(0, &before)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = in.Close()
		_ = server.Wait()
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(address)
}

// processTime is the CPU time of this process.
func processTime(b *testing.B) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		b.Fatal(err)
	}
	return time.Duration(t.Nano())
}

// The generator's CPU per request. Pin it apart from the server to compare:
//
//	go test -c ./wire/raw && taskset -c 0 ./raw.test -test.run - -test.bench Null
func BenchmarkNull(b *testing.B) {
	for _, c := range []struct {
		cell               string
		connections, slots int
	}{
		{"http1-proto/null", 50, 50},
		{"grpc/null", 10, 100},
		{"grpc/null", 1, 100},
		{"grpc/null", 50, 50},
		{"grpc/grpc-go", 50, 50},
		{"http1-proto/net/http", 50, 50},
		{"h2c-proto/net/http", 50, 50},
	} {
		b.Run(fmt.Sprintf("%s/%dx%d", c.cell, c.connections, c.slots/c.connections), func(b *testing.B) {
			protocol, library, _ := strings.Cut(c.cell, "/")
			to := wirelab.Dialing{Address: spawn(b, c.cell), Connections: c.connections}
			lines := dial(b, one(b, protocol, library), to, c.slots, "GetFeature")
			if o := loop(b, lines, 20_000); o.first != nil {
				b.Fatal(o)
			}
			b.ReportAllocs()
			b.ResetTimer()
			before := processTime(b)
			o := loop(b, lines, b.N)
			b.ReportMetric(float64(processTime(b)-before)/float64(b.N), "cpu-ns/op")
			if o.right != b.N {
				b.Fatalf("%+v", o)
			}
		})
	}
}
