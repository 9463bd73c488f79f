package gateway_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"wirelab"
	"wirelab/pipeline/gateway"
	"wirelab/pipeline/journal"
	"wirelab/pipeline/path"
	"wirelab/workload/logging"
	"wirelab/workload/logging/bind"
)

// BenchmarkLog is what an entry costs on its way through the gateway to a logger
// that keeps nothing, with 50 callers: plain sockets that write ready-made
// requests, so that nearly all of it is the gateway's and the inner wire's.
func BenchmarkLog(b *testing.B) {
	for name, way := range map[string]string{"log-rpc": "netrpc", "log-grpc": "grpc", "log-http": "http1-json"} {
		b.Run(name, func(b *testing.B) { benchmark(b, name, way) })
	}
}

func benchmark(b *testing.B, name, protocol string) {
	ctx, stop := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	b.Cleanup(serving.Wait)
	b.Cleanup(stop)
	endpoint, front := opened(b), opened(b)
	for _, binding := range bind.Bindings() {
		if binding.Protocol.Name == protocol {
			serving.Go(func() { _ = binding.Servers[0].Serve(ctx, wirelab.Endpoint{Listener: endpoint}, keepsNothing{}) })
		}
	}
	onward := map[string]func() (path.Path, error){
		"netrpc":     func() (path.Path, error) { return path.RPC(endpoint.Addr().String(), path.Options{}), nil },
		"grpc":       func() (path.Path, error) { return path.GRPC(endpoint.Addr().String(), path.Options{}) },
		"http1-json": func() (path.Path, error) { return path.HTTP(endpoint.Addr().String(), path.Options{}), nil },
	}
	way, err := onward[protocol]()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = way.Close() })
	handler, err := gateway.New(gateway.Options{Paths: map[string]path.Path{name: way}, Journal: journal.New(0)})
	if err != nil {
		b.Fatal(err)
	}
	serving.Go(func() { _ = gateway.Serve(ctx, front, handler, gateway.Timeouts{}) })
	const callers = 50
	jobs := make(chan struct{}, b.N)
	for range b.N {
		jobs <- struct{}{}
	}
	close(jobs)
	b.ReportAllocs()
	b.ResetTimer()
	var calling sync.WaitGroup
	for range callers {
		calling.Go(func() {
			if err := call(front.Addr().String(), name, jobs); err != nil {
				b.Error(err)
			}
		})
	}
	calling.Wait()
}

// call makes one call for each job, on a connection that only it uses.
func call(address, path string, jobs <-chan struct{}) error {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	body := `{"action":"log","log":{"name":"benchmark","data":"published log entry 123","id":"load-abcdefghijkl"}}`
	request := fmt.Appendf(nil,
		"POST /%s HTTP/1.1\r\nHost: gateway\r\nUser-Agent: Go-http-client/1.1\r\nContent-Length: %d\r\n"+
			"Accept: application/json\r\nCall-Timeout-Ms: 5000\r\nContent-Type: application/json\r\n\r\n%s", path,
		len(body), body)
	reply := bufio.NewReader(conn)
	for range jobs {
		if _, err := conn.Write(request); err != nil {
			return err
		}
		status, length := "", 0
		for {
			line, err := reply.ReadString('\n')
			if err != nil {
				return err
			}
			if status == "" {
				status = line
			}
			if value, is := strings.CutPrefix(line, "Content-Length: "); is {
				if length, err = strconv.Atoi(strings.TrimSpace(value)); err != nil {
					return err
				}
			}
			if line == "\r\n" {
				break
			}
		}
		if _, err := io.CopyN(io.Discard, reply, int64(length)); err != nil || !strings.Contains(status, " 202 ") {
			return fmt.Errorf("%q, %w", status, err)
		}
	}
	return nil
}

func opened(b *testing.B) net.Listener {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	return l
}

// keepsNothing is a logger that answers and does no more.
type keepsNothing struct{ logging.Service }

func (keepsNothing) WriteLog(_ context.Context, entry logging.Entry) (logging.Written, error) {
	return logging.Written{ID: entry.ID}, nil
}
