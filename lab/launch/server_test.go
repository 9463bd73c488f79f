package launch_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"sync/atomic"
	"syscall"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
)

// The test binary is also the server: with this variable set it plays a part.
const part = "LAUNCH_TEST_PART"

func TestMain(m *testing.M) {
	if name := os.Getenv(part); name != "" {
		if err := parts[name](); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

var parts = map[string]func() error{
	"http": func() error { return serveHTTP(own()) },
	"https": func() error {
		l, err := net.Listen("tcp", own())
		if err != nil {
			return err
		}
		server := httptest.NewUnstartedServer(handler())
		server.Listener = l
		server.StartTLS()
		select {}
	},
	"elsewhere": func() error { // it ignores PORT
		return serveHTTP("127.0.0.1:0")
	},
	"grpc":       func() error { return serveGRPC(true) },
	"healthless": func() error { return serveGRPC(false) },
	"line": func() error {
		l, err := net.Listen("tcp", ":0")
		if err != nil {
			return err
		}
		fmt.Println("hello, this is a banner")
		fmt.Println(`{"level":"info","msg":"a log in JSON"}`)
		fmt.Printf(`{"ready":{"address":"0.0.0.0:%d"}}`+"\n", l.Addr().(*net.TCPAddr).Port)
		return http.Serve(l, handler())
	},
	"deaf": func() error { // it accepts connections and does not reply
		if _, err := net.Listen("tcp", own()); err != nil {
			return err
		}
		select {}
	},
	"mute": func() error { select {} },
	"stillborn": func() error {
		fmt.Println("reading shop.conf")
		return fmt.Errorf("shop.conf: no such file")
	},
	"done": func() error { return nil },
	"chatty": func() error {
		line := bytes.Repeat([]byte("x"), 100_000) // longer than any line that is read
		for range 100 {
			fmt.Fprintf(os.Stderr, "%s\n", line)
		}
		return serveHTTP(own())
	},
	"stubborn": func() error {
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("no signal ends this one")
		return serveHTTP(own())
	},
	// Its family has one of each kind: a worker, a worker's worker that ignores SIGTERM, an orphan in the group, and a
	// worker in a separate session.
	"family": func() error {
		for _, err := range []error{start("worker", false), start("parent", false), start("apart", true)} {
			if err != nil {
				return err
			}
		}
		return serveHTTP(own())
	},
	"parent": func() error { return start("ignores", false) }, // its child becomes an orphan
	"worker": func() error {
		if err := start("ignores", false); err != nil {
			return err
		}
		select {}
	},
	"apart": func() error { select {} },
	"ignores": func() error {
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("no signal ends this one")
		select {}
	},
}

// own returns the address on which a server was told to listen.
func own() string { return net.JoinHostPort(os.Getenv("HOST"), os.Getenv("PORT")) }

// start starts another part.
func start(name string, session bool) error {
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), part+"="+name)
	child.Stdout = os.Stdout
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: session}
	return child.Start()
}

func serveHTTP(at string) error {
	l, err := net.Listen("tcp", at)
	if err != nil {
		return err
	}
	return http.Serve(l, handler())
}

func handler() http.Handler {
	var asked atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) < 3 {
			http.Error(w, "not yet", http.StatusServiceUnavailable)
		}
	})
	mux.Handle("/moved", http.RedirectHandler("/healthz", http.StatusFound))
	mux.HandleFunc("/told", func(w http.ResponseWriter, _ *http.Request) {
		folder, _ := os.Getwd()
		_ = json.NewEncoder(w).Encode(map[string]any{
			"args": os.Args[1:], "port": os.Getenv("PORT"), "host": os.Getenv("HOST"), "own": os.Getenv("OWN"),
			"dir": folder,
		})
	})
	mux.HandleFunc("/die", func(http.ResponseWriter, *http.Request) {
		fmt.Fprintln(os.Stderr, "out of luck")
		os.Exit(3)
	})
	return mux
}

func serveGRPC(healthy bool) error {
	l, err := net.Listen("tcp", own())
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	if healthy {
		status := health.NewServer()
		status.SetServingStatus("", grpc_health_v1.HealthCheckResponse_NOT_SERVING)
		var asked atomic.Int64
		server = grpc.NewServer(grpc.UnaryInterceptor(func(
			ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler,
		) (any, error) {
			if asked.Add(1) == 3 {
				status.SetServingStatus("", grpc_health_v1.HealthCheckResponse_SERVING)
			}
			return next(ctx, request)
		}))
		grpc_health_v1.RegisterHealthServer(server, status)
	}
	return server.Serve(l)
}
