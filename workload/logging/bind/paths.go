package bind

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strings"

	"wirelab"
	"wirelab/wire/httpbind"
	"wirelab/wire/httprpc"
	"wirelab/workload/logging"
)

// The client libraries of the paths. The published one gets a reply's head and
// closes its body unread, so that net/http cannot use the connection again: nearly
// every call opens one (docs/origins.md ms-M03). It is there to show what that costs.
const (
	libraryNetHTTP   = "net/http"
	libraryPublished = "published"
)

// Paths carry an entry through the log pipeline: over HTTP/1.1 to its gateway,
// and from there by the way that the path is named after. With "-published" the
// gateway goes that way as the published one did: by a connection or channel for
// each entry. They write, and do nothing else.
func Paths() []wirelab.Binding[logging.Service] {
	ways := []struct{ name, framing string }{
		{"log-http", "HTTP, then HTTP"},
		{"log-grpc", "HTTP, then gRPC"},
		{"log-rpc", "HTTP, then net/rpc"},
		{"log-rabbit", "HTTP, then a queue at RabbitMQ, then gRPC"},
		{"log-rabbit-direct", "HTTP, then a queue at RabbitMQ"},
		{"log-nats", "HTTP, then a queue at NATS JetStream, then gRPC"},
		{"log-nats-direct", "HTTP, then a queue at NATS JetStream"},
		{"log-hermes", "HTTP, then a queue at Hermes, then gRPC"},
		{"log-hermes-direct", "HTTP, then a queue at Hermes"},
	}
	var all []wirelab.Binding[logging.Service]
	for _, way := range ways {
		all = append(all, pathBinding(way.name, way.framing))
		if !strings.Contains(way.name, "nats") && !strings.Contains(way.name, "hermes") &&
			!strings.HasSuffix(way.name, "direct") {
			all = append(all, pathBinding(way.name+"-published", way.framing))
		}
	}
	return all
}

func pathBinding(name, framing string) wirelab.Binding[logging.Service] {
	const reads = "a path through the pipeline only writes; ask the logger itself, over http1-json or grpc"
	return wirelab.Binding[logging.Service]{
		Protocol: wirelab.Protocol{
			Name: name, Transport: "HTTP/1.1", Framing: framing, Encoding: "JSON", Network: "tcp", Pipeline: true,
		},
		Style: wirelab.Idiomatic,
		Holes: map[string]string{"GetEntry": reads, "ListEntries": reads, "DeleteEntries": reads},
		Servers: []wirelab.Server[logging.Service]{{
			Library: "pipeline",
			Serve: func(context.Context, wirelab.Endpoint, logging.Service) error {
				return wirelab.Errorf(wirelab.Unimplemented,
					"path %s leads through several processes; wirelab up logging runs them",
					name)
			},
		}},
		Clients: []wirelab.Dialer[logging.Service]{
			{
				Library: libraryNetHTTP,
				Dial: func(_ context.Context, to wirelab.Dialing) (logging.Service, io.Closer, error) {
					client, err := httpbind.HTTP1(false).Dial(to)
					if err != nil {
						return nil, nil, err
					}
					c := newRESTCodecs()
					return pathStub{httprpc.CallAccepted(client, "/"+name, httprpc.JSONOf(handedToJSON, handedFromJSON),
						*c.written.In(httprpc.JSON))}, client, nil
				},
			},
			{
				Library: libraryPublished,
				Dial: func(_ context.Context, to wirelab.Dialing) (logging.Service, io.Closer, error) {
					client := newPublishedClient(to, name)
					return pathStub{client.writeLog}, client, nil
				},
			},
		},
	}
}

// handedJSON is what a gateway is handed.
type handedJSON struct {
	Action string    `json:"action"`
	Log    entryJSON `json:"log"`
}

func handedToJSON(e logging.Entry) handedJSON {
	return handedJSON{Action: "log", Log: entryToJSON(e)}
}

func handedFromJSON(h handedJSON) logging.Entry { return entryFromJSON(h.Log) }

// pathStub writes, and refuses all else.
type pathStub struct {
	write func(context.Context, logging.Entry) (logging.Written, error)
}

var _ logging.Service = pathStub{}

// WriteLog implements [logging.Service].
func (s pathStub) WriteLog(ctx context.Context, entry logging.Entry) (logging.Written, error) {
	if err := entry.Validate(); err != nil {
		return logging.Written{}, err
	}
	return s.write(ctx, entry)
}

// errPath is what a path answers to whatever does not write.
func errPath(operation string) error {
	return wirelab.Errorf(wirelab.Unimplemented, "a path through the pipeline only writes, and has no %s", operation)
}

// GetEntry implements [logging.Service].
func (pathStub) GetEntry(context.Context, logging.EntryID) (logging.Stored, error) {
	return logging.Stored{}, errPath("GetEntry")
}

// ListEntries implements [logging.Service].
func (pathStub) ListEntries(context.Context, logging.Query) (logging.EntryList, error) {
	return logging.EntryList{}, errPath("ListEntries")
}

// DeleteEntries implements [logging.Service].
func (pathStub) DeleteEntries(context.Context, logging.Retention) (logging.Deleted, error) {
	return logging.Deleted{}, errPath("DeleteEntries")
}

// publishedClient calls as the published benchmark does: a success is the status
// 202, and the body is closed unread.
type publishedClient struct {
	client    *http.Client
	transport *http.Transport
	url       string
	codec     httprpc.Codec[logging.Entry]
}

func newPublishedClient(to wirelab.Dialing, path string) *publishedClient {
	t := &http.Transport{
		DialContext:         func(ctx context.Context, _, _ string) (net.Conn, error) { return to.Open(ctx) },
		DisableCompression:  true,
		MaxConnsPerHost:     to.ConnectionCount(),
		MaxIdleConnsPerHost: to.ConnectionCount(),
	}
	return &publishedClient{
		client: &http.Client{Transport: t}, transport: t, url: "http://" + to.Address + "/" + path,
		codec: httprpc.JSONOf(handedToJSON, handedFromJSON),
	}
}

// Close closes the client's idle connections: there is hardly one.
func (c *publishedClient) Close() error {
	c.transport.CloseIdleConnections()
	return nil
}

func (c *publishedClient) writeLog(ctx context.Context, entry logging.Entry) (logging.Written, error) {
	body, err := c.codec.Encode(entry)
	if err != nil {
		return logging.Written{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return logging.Written{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := c.client.Do(request)
	if err != nil {
		if ctx.Err() != nil {
			return logging.Written{}, wirelab.Public(ctx.Err())
		}
		return logging.Written{}, wirelab.Errorf(wirelab.Unavailable, "the gateway could not be called: %v", err)
	}
	_ = response.Body.Close() // unread: that is the point
	if response.StatusCode != http.StatusAccepted {
		return logging.Written{}, wirelab.Errorf(httprpc.CodeOf(response.StatusCode),
			"the gateway answered %s", response.Status)
	}
	return logging.Written{ID: entry.ID}, nil
}
