package conformance

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"log"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"wirelab"
)

// toyWire carries the toy as lines of JSON over net/http. fault names its fault; "" is a wire without a fault.
type toyWire struct {
	fault    string
	protocol wirelab.Protocol
	leak     <-chan struct{} // ends what the leak leaks
}

func toyProtocols() []wirelab.Protocol {
	return []wirelab.Protocol{
		{Name: "h2c-json", Transport: "HTTP/2", Encoding: "JSON", Network: "tcp", Multiplexed: true},
		{Name: "http2-json", Transport: "HTTP/2", Encoding: "JSON", Network: "tcp", Secure: true, Multiplexed: true},
		{Name: "http1-json", Transport: "HTTP/1.1", Encoding: "JSON", Network: "tcp"},
		{Name: "http1-tls-json", Transport: "HTTP/1.1", Encoding: "JSON", Network: "tcp", Secure: true},
	}
}

func (w toyWire) is(fault string) bool { return w.fault == fault }

func (w toyWire) binding() wirelab.Binding[toy] {
	b := wirelab.Binding[toy]{
		Protocol: w.protocol, Style: wirelab.Generic, Holes: map[string]string{},
		Servers: []wirelab.Server[toy]{{Library: "toy", Serve: w.serve}},
		Clients: []wirelab.Dialer[toy]{{Library: "toy", Dial: w.dial}},
	}
	if !w.protocol.Multiplexed {
		b.Holes["Chat"] = "net/http does not read and write one HTTP/1.1 exchange at once."
	}
	switch w.fault {
	case "hole-passes", "hole-wrong-code":
		b.Holes["List"] = "It is said to be too hard for this wire."
	case "hole-without-reason":
		b.Holes["Chat"] = "no"
	case "undeclared-hole":
		delete(b.Holes, "Chat")
	}
	return b
}

func (w toyWire) protocols() *http.Protocols {
	p := &http.Protocols{}
	h2 := w.protocol.Transport == "HTTP/2" && !w.is("other-protocol")
	p.SetHTTP1(!h2)
	p.SetHTTP2(h2 && w.protocol.Secure)
	p.SetUnencryptedHTTP2(h2 && !w.protocol.Secure)
	return p
}

type frame struct {
	Item  json.RawMessage `json:"item,omitempty"`
	Code  string          `json:"code,omitempty"`
	Text  string          `json:"text,omitempty"`
	Ended bool            `json:"ended,omitempty"`
}

func (w toyWire) serve(ctx context.Context, at wirelab.Endpoint, service toy) error {
	var calls sync.WaitGroup
	server := &http.Server{Protocols: w.protocols(), ErrorLog: log.New(io.Discard, "", 0)}
	if w.protocol.Secure {
		server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{*at.Certificate}, MinVersion: tls.VersionTLS13}
		if w.is("tls-1.2") {
			server.TLSConfig.MinVersion = tls.VersionTLS12
		}
	}
	server.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		defer calls.Done()
		w.answer(rw, r, service, func() { go server.Close() })
	})
	done := make(chan error, 1)
	go func() {
		if w.protocol.Secure {
			done <- server.ServeTLS(at.Listener, "", "")
		} else {
			done <- server.Serve(at.Listener)
		}
	}()
	select {
	case <-ctx.Done():
	case err := <-done:
		return err
	}
	if w.is("port-held") {
		return nil
	}
	drain := at.DrainTime()
	if w.is("drain-ignored") {
		drain = time.Hour
	}
	stop, cancel := context.WithTimeout(context.Background(), drain)
	defer cancel()
	if !w.is("cut-at-stop") {
		_ = server.Shutdown(stop)
	}
	_ = server.Close()
	<-done
	if w.is("never-stops") {
		<-w.leak
	}
	calls.Wait()
	return nil
}

// answer serves one call.
func (w toyWire) answer(rw http.ResponseWriter, r *http.Request, service toy, kill func()) {
	ctx := r.Context()
	if nanos, err := strconv.ParseInt(r.Header.Get("Timeout-Ns"), 10, 64); err == nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(nanos))
		defer cancel()
	}
	if w.is("server-ignores-cancel") || w.is("break-ignored") {
		ctx = context.WithoutCancel(ctx)
	}
	rw.Header().Set("Content-Type", "application/x-ndjson")
	if w.is("content-type") {
		rw.Header().Set("Content-Type", "text/plain")
	}
	out := json.NewEncoder(rw)
	send := func(f frame) bool {
		err := out.Encode(f)
		if flushErr := http.NewResponseController(rw).Flush(); err == nil {
			err = flushErr
		}
		return err == nil || w.is("break-ignored")
	}
	rw.WriteHeader(http.StatusOK)
	if !w.is("panic-drops") {
		defer func() {
			if p := recover(); p != nil && !w.is("truncated") {
				text := "internal error"
				if w.is("panic-tells") {
					text = p.(string)
				}
				send(frame{Code: "internal", Text: text})
				if w.is("panic-stops") {
					kill()
				}
			}
		}()
	}
	w.reply(ctx, r, service, send)
}

// reply sends what the service answers.
func (w toyWire) reply(ctx context.Context, r *http.Request, service toy, send func(frame) bool) {
	replies := w.invoke(ctx, r, service)
	var kept []frame
	count := 0
	for item, err := range replies {
		if err != nil {
			if w.is("truncated") && count > 0 {
				return
			}
			e := wirelab.Public(err)
			f := frame{Code: e.Code.String(), Text: e.Message}
			if w.is("wrong-code") && e.Code == wirelab.NotFound {
				f.Code = "internal"
			}
			switch {
			case w.is("lost-error-text"):
				f.Text = ""
			case w.is("code-table") && e.Code == wirelab.Conflict:
				f.Code = "not_found"
			case w.is("text-in-header"):
				f.Text, _, _ = strings.Cut(f.Text, "\n")
			case w.is("tells-all") && e.Code == wirelab.Internal:
				f.Text = err.Error()
			}
			send(f)
			return
		}
		count++
		data, _ := json.Marshal(item)
		switch {
		case w.is("swapped"):
			data = []byte(strings.NewReplacer(`"Lat"`, `"Long"`, `"Long"`, `"Lat"`).Replace(string(data)))
		case w.is("dropped") && count == 2, w.is("large-lost") && len(data) > 1000:
			continue
		case w.is("lost-text"):
			data = []byte(strings.ReplaceAll(string(data), "NOTE", ""))
		}
		if w.is("reordered") {
			kept = append(kept, frame{Item: data})
			continue
		}
		if !send(frame{Item: data}) {
			return
		}
	}
	slices.Reverse(kept)
	for _, f := range kept {
		send(f)
	}
	send(frame{Ended: true})
}

// invoke calls the service and erases what it answers.
func (w toyWire) invoke(ctx context.Context, r *http.Request, service toy) iter.Seq2[any, error] {
	in := json.NewDecoder(r.Body)
	switch r.URL.Path {
	case "/Find":
		return one(func() (any, error) { return service.Find(ctx, first[spot](in)) })
	case "/List":
		list := erased(service.List(ctx, first[area](in)))
		if w.is("unbounded") {
			return w.buffered(list)
		}
		return list
	case "/Sum":
		return one(func() (any, error) { return service.Sum(ctx, decoded[spot](in)) })
	case "/Chat":
		notes := decoded[note](in)
		if w.is("half-duplex") {
			var all []note
			for n := range notes {
				all = append(all, n)
			}
			notes = func(yield func(note, error) bool) {
				for _, n := range all {
					if !yield(n, nil) {
						return
					}
				}
			}
		}
		return erased(service.Chat(ctx, notes))
	}
	return one(func() (any, error) { return nil, wirelab.Errorf(wirelab.Unimplemented, "no %s", r.URL.Path) })
}

// buffered reads ahead without a bound.
func (w toyWire) buffered(list iter.Seq2[any, error]) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		queue := make(chan any, 1<<20)
		go func() {
			defer close(queue)
			for item, err := range list {
				if err != nil {
					return
				}
				queue <- item
			}
		}()
		for item := range queue {
			if !yield(item, nil) {
				return
			}
		}
	}
}

func one(call func() (any, error)) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) { yield(call()) }
}

func erased[T any](all iter.Seq2[T, error]) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		for item, err := range all {
			if !yield(item, err) {
				return
			}
		}
	}
}

func first[T any](in *json.Decoder) (v T) {
	_ = in.Decode(&v)
	return v
}

func decoded[T any](in *json.Decoder) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for {
			var v T
			err := in.Decode(&v)
			if errors.Is(err, io.EOF) || !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// toyStub is the client's side.
type toyStub struct {
	wire   toyWire
	client *http.Client
	base   string
	mu     *sync.Mutex // held by each call of a wire that is serial
	broken *bool       // whether a wire that never reconnects has failed
}

func (w toyWire) dial(_ context.Context, to wirelab.Dialing) (toy, io.Closer, error) {
	transport := &http.Transport{
		Protocols: w.protocols(), DisableCompression: true,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if w.is("own-dialer") {
				return (&net.Dialer{}).DialContext(ctx, network, address)
			}
			return to.Open(ctx)
		},
		MaxConnsPerHost: to.ConnectionCount(), MaxIdleConnsPerHost: to.ConnectionCount(),
		DisableKeepAlives: w.is("connection-per-call"),
	}
	scheme := "http://"
	if w.protocol.Secure {
		scheme, transport.TLSClientConfig = "https://", &tls.Config{RootCAs: to.Roots}
		if w.is("tls-1.2") {
			transport.TLSClientConfig.MaxVersion = tls.VersionTLS12
		}
	}
	if w.is("connection-limit-ignored") {
		transport.MaxConnsPerHost = 0
	} else if w.is("leak") {
		go func() { <-w.leak }()
	}
	client := &http.Client{Transport: transport}
	s := &toyStub{wire: w, client: client, base: scheme + to.Address, mu: &sync.Mutex{}, broken: new(bool)}
	return s, toyCloser(func() error {
		transport.CloseIdleConnections()
		return nil
	}), nil
}

type toyCloser func() error

func (c toyCloser) Close() error { return c() }

// call sends a body and yields the frames of its reply.
func (s *toyStub) call(ctx context.Context, path string, body io.Reader) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		if s.wire.is("serial") {
			s.mu.Lock()
			defer s.mu.Unlock()
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		outer := ctx
		if s.wire.is("client-ignores-cancel") {
			ctx = context.WithoutCancel(ctx)
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.base+path, body)
		if err != nil {
			yield(nil, err)
			return
		}
		request.Header.Set("Content-Type", "application/x-ndjson")
		if deadline, ok := outer.Deadline(); ok && !s.wire.is("deadline-lost") {
			left := time.Until(deadline)
			switch s.wire.fault {
			case "deadline-doubled":
				left *= 2
			case "deadline-halved":
				left /= 2
			}
			request.Header.Set("Timeout-Ns", strconv.FormatInt(int64(left), 10))
		}
		if *s.broken {
			yield(nil, wirelab.Errorf(wirelab.Unavailable, "failed once"))
			return
		}
		reply, err := s.client.Do(request)
		if err != nil {
			*s.broken = s.wire.is("no-reconnect")
			yield(nil, s.failure(ctx, err))
			return
		}
		defer reply.Body.Close()
		in := json.NewDecoder(reply.Body)
		for {
			var f frame
			switch err := in.Decode(&f); {
			case err != nil && s.wire.is("truncated"):
				return
			case err != nil:
				yield(nil, s.failure(ctx, err))
				return
			case f.Code != "":
				_, _ = io.Copy(io.Discard, reply.Body)
				code, _ := wirelab.ParseCode(f.Code)
				yield(nil, &wirelab.Error{Code: code, Message: f.Text})
				return
			case f.Ended:
				// Read the end of the body too, or the connection is not kept.
				_, _ = io.Copy(io.Discard, reply.Body)
				return
			}
			if !yield(f.Item, nil) {
				return
			}
		}
	}
}

func (s *toyStub) failure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return wirelab.Errorf(wirelab.Unavailable, "%v", err)
}

func (s *toyStub) Find(ctx context.Context, at spot) (place, error) {
	if s.wire.is("local") {
		return toyReference{}.Find(ctx, at)
	}
	return sole[place](s.call(ctx, "/Find", lines(at)))
}

func (s *toyStub) List(ctx context.Context, in area) iter.Seq2[place, error] {
	if s.wire.is("hole-wrong-code") {
		return func(yield func(place, error) bool) { yield(place{}, wirelab.Errorf(wirelab.Internal, "no")) }
	}
	return typed[place](s.call(ctx, "/List", lines(in)))
}

func (s *toyStub) Sum(ctx context.Context, spots iter.Seq2[spot, error]) (total, error) {
	var all []any
	for at, err := range spots {
		if err != nil {
			return total{}, err
		}
		all = append(all, at)
	}
	return sole[total](s.call(ctx, "/Sum", lines(all...)))
}

func (s *toyStub) Chat(ctx context.Context, notes iter.Seq2[note, error]) iter.Seq2[note, error] {
	return func(yield func(note, error) bool) {
		if !s.wire.protocol.Multiplexed {
			yield(note{}, wirelab.Errorf(wirelab.Unimplemented, "Chat needs both directions at once"))
			return
		}
		reader, writer := io.Pipe()
		var wg sync.WaitGroup
		defer wg.Wait()
		defer reader.Close()
		wg.Go(func() {
			defer writer.Close()
			out := json.NewEncoder(writer)
			for n, err := range notes {
				if err != nil || out.Encode(n) != nil {
					return
				}
			}
		})
		typed[note](s.call(ctx, "/Chat", reader))(yield)
	}
}

func lines(all ...any) io.Reader {
	var b bytes.Buffer
	for _, v := range all {
		_ = json.NewEncoder(&b).Encode(v)
	}
	return &b
}

func typed[T any](frames iter.Seq2[json.RawMessage, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for raw, err := range frames {
			var v T
			if err == nil {
				err = json.Unmarshal(raw, &v)
			}
			if !yield(v, err) {
				return
			}
		}
	}
}

func sole[T any](frames iter.Seq2[json.RawMessage, error]) (v T, err error) {
	err = wirelab.Errorf(wirelab.Internal, "no reply")
	for item, itemErr := range typed[T](frames) {
		v, err = item, itemErr
	}
	return v, err
}
