package launch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"wirelab"
	"wirelab/internal/affinity"
	"wirelab/lab/control"
	"wirelab/lab/probe"
)

// Ready says how to find out that a server can be called:
//
//	tcp           it takes connections
//	grpc          grpc.health.v1.Health/Check answers SERVING
//	http:/path    GET of the path is answered with a status of 2xx
//	https:/path   the same over TLS, whatever certificate it shows
//	line          it prints {"ready":{"address":"127.0.0.1:1234"}}
//
// The line counts whichever way was chosen. "" is tcp.
type Ready string

// The ways that need no path.
const (
	TCP  Ready = "tcp"
	GRPC Ready = "grpc"
	Line Ready = "line"
)

// ParseReady reads a way as a person writes it.
func ParseReady(text string) (Ready, error) {
	r := Ready(text)
	switch r {
	case "":
		return TCP, nil
	case TCP, GRPC, Line:
		return r, nil
	}
	if scheme, path, ok := strings.Cut(text, ":"); ok && (scheme == "http" || scheme == "https") {
		// A path with two slashes is a URL with a host, which is not supported.
		_, err := http.NewRequest(http.MethodGet, "http://host"+path, http.NoBody)
		if err == nil && strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "//") {
			return r, nil
		}
		return "", wirelab.Errorf(wirelab.InvalidArgument, "ready: %q has no path; write %s:/healthz", text, scheme)
	}
	return "", wirelab.Errorf(wirelab.InvalidArgument,
		"ready: %q is not known; write tcp, grpc, line, http:/path or https:/path", text)
}

// waits names the event that is waited for, for messages.
func (r Ready) waits(address string) string {
	switch scheme, path, _ := strings.Cut(string(r), ":"); scheme {
	case "http", "https":
		return fmt.Sprintf("GET %s://%s%s to be answered with 2xx", scheme, address, path)
	case "grpc":
		return fmt.Sprintf("grpc.health.v1.Health/Check at %s to answer SERVING", address)
	case "line":
		return `a line {"ready":{"address":"127.0.0.1:1234"}} on standard output`
	}
	return "a connection to " + address
}

const (
	pollEvery = 5 * time.Millisecond
	// tryLimit limits the wait for one reply: a server that is starting may accept a connection and not reply.
	tryLimit = time.Second
)

// errNever says why a running server will not become ready, however long it gets.
type errNever struct{ error }

// await waits until the server is ready.
func (p *Process) await(ctx context.Context, s Spec, address string) (control.Ready, error) {
	ready, err := ParseReady(string(s.Ready))
	if err != nil {
		return control.Ready{}, err
	}
	limit := s.StartTime
	if limit == 0 {
		limit = usualStartTime
	}
	late := time.NewTimer(limit)
	defer late.Stop()
	again := time.NewTimer(0)
	defer again.Stop()
	reason := errors.New("it printed no such line")
	unready := func(why string) error {
		return wirelab.Errorf(wirelab.Unavailable, "%s was not ready: %s (waited for %s; last: %v)%s",
			p.name, why, ready.waits(address), reason, p.out.words.Last())
	}
	for {
		select {
		case said := <-p.out.said:
			return said, nil
		case <-p.held.Done():
			return control.Ready{}, p.Stop()
		case <-ctx.Done():
			return control.Ready{}, fmt.Errorf("%s was not ready yet: %w", p.name, context.Cause(ctx))
		case <-late.C:
			return control.Ready{}, unready(fmt.Sprintf("it got %v", limit) + p.elsewhere(address))
		case <-again.C:
		}
		if ready == Line {
			continue // the line arrives on p.out.said
		}
		if reason = try(ctx, ready, address, s.Namespace); reason == nil {
			select {
			case <-p.held.Done(): // another program has the port, and replied
				return control.Ready{}, p.Stop()
			default:
				return control.Ready{Address: address}, nil
			}
		}
		if never := (errNever{}); errors.As(reason, &never) {
			return control.Ready{}, unready("it never will be")
		}
		again.Reset(pollEvery)
	}
}

// elsewhere says where the server listens, for an error message; "" if it listens at the expected address.
func (p *Process) elsewhere(told string) string {
	var pids []int
	for _, one := range p.family() {
		pids = append(pids, one.PID)
	}
	listening := probe.Listening(pids)
	if len(listening) == 0 {
		return ", and does not listen"
	}
	var all []string
	for _, at := range listening {
		all = append(all, at.String())
		if host, port, err := net.SplitHostPort(told); err == nil && strconv.Itoa(int(at.Port())) == port &&
			(at.Addr().IsUnspecified() || at.Addr().String() == host) {
			return ""
		}
	}
	return fmt.Sprintf(", and listens at %s; have it listen at $HOST:$PORT, which is %s", strings.Join(all, ", "), told)
}

// try checks once. The error says why the server is not ready.
func try(ctx context.Context, ready Ready, address string, namespace *os.File) error {
	ctx, cancel := context.WithTimeout(ctx, tryLimit)
	defer cancel()
	// A connection belongs to the network namespace of the thread that opened it.
	dial := func(ctx context.Context, _ string) (conn net.Conn, err error) {
		err = affinity.Place{Namespace: namespace}.Do(func() error {
			conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", address)
			return err
		})
		return conn, err
	}
	switch scheme, path, _ := strings.Cut(string(ready), ":"); scheme {
	case "http", "https":
		return tryHTTP(ctx, scheme+"://"+address+path, dial)
	case "grpc":
		return tryHealth(ctx, address, dial)
	}
	conn, err := dial(ctx, address)
	if err != nil {
		return err
	}
	_ = conn.Close() // it was only opened
	return nil
}

type dialFunc func(ctx context.Context, address string) (net.Conn, error)

func tryHTTP(ctx context.Context, url string, dial dialFunc) error {
	client := http.Client{
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
				return dial(ctx, address)
			},
			TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // only the status is read
			DisableKeepAlives: true,
		},
		// A redirect, usually to a login page, does not mean that the server is ready.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return errNever{err}
	}
	response, err := client.Do(request)
	if err != nil {
		return err // only the status counts
	}
	_, _ = io.CopyN(io.Discard, response.Body, 64<<10) // the status is all that counts
	_ = response.Body.Close()
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("it answered %s", response.Status)
	}
	return nil
}

func tryHealth(ctx context.Context, address string, dial dialFunc) error {
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithContextDialer(dial),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithNoProxy())
	if err != nil {
		return errNever{err}
	}
	defer func() { _ = conn.Close() }() // it was asked once
	reply, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	switch {
	case status.Code(err) == codes.Unimplemented:
		return errNever{errors.New("it has no service grpc.health.v1.Health; add it, or wait for tcp")}
	case err != nil:
		return err
	case reply.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING:
		return fmt.Errorf("it answered %v", reply.GetStatus())
	}
	return nil
}
