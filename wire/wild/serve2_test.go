package wild_test

import (
	"bytes"
	"cmp"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"wirelab"
)

// server2 is a connection of a server of HTTP/2, frame by frame.
type server2 struct {
	conn   net.Conn
	framer *http2.Framer
	right  answers
	how    *behaviour2

	mu      sync.Mutex // guards written data, and all below
	encoder *hpack.Encoder
	block   bytes.Buffer
	asked   int    // requests that have come
	open    int    // that are not answered
	last    uint32 // stream that it takes; 0: any
	all     sync.WaitGroup
}

// behaviour2 is how a server of HTTP/2 behaves; a nil field is as usual.
type behaviour2 struct {
	name     string
	settings []http2.Setting
	// acked is what it does once the client has taken the settings.
	acked func(s *server2)
	// take may take a request otherwise than to answer it: true if it has. It holds s.mu.
	take func(s *server2, stream uint32) bool
	// say says a reply.
	say     func(s *server2, stream uint32, r reply)
	want    want
	only    string // of this protocol alone
	streams uint32 // that it allows, and counts; 0: any number
	atOnce  int    // calls; 0: 4
}

// usual says a reply as most servers do.
func (s *server2) usual(stream uint32, r reply) {
	s.headers(stream, strconv.Itoa(r.status), r.header, false)
	_ = s.framer.WriteData(stream, len(r.trailer) == 0, r.body)
	if len(r.trailer) > 0 {
		s.headers(stream, "", r.trailer, true)
	}
}

// headers writes a header block.
func (s *server2) headers(stream uint32, status string, fields http.Header, end bool) {
	s.block.Reset()
	if status != "" {
		_ = s.encoder.WriteField(hpack.HeaderField{Name: ":status", Value: status})
	}
	for name, values := range fields {
		for _, value := range values {
			_ = s.encoder.WriteField(hpack.HeaderField{Name: string(bytes.ToLower([]byte(name))), Value: value})
		}
	}
	_ = s.framer.WriteHeaders(http2.HeadersFrameParam{
		StreamID: stream, BlockFragment: s.block.Bytes(), EndHeaders: true, EndStream: end,
	})
}

// request is one under way.
type request struct {
	method, path string
	header       http.Header
	body         []byte
}

// serve serves the connection to its end.
func (s *server2) serve() {
	defer s.all.Wait()
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(s.conn, preface); err != nil {
		return
	}
	s.mu.Lock()
	_ = s.framer.WriteSettings(s.how.settings...)
	s.mu.Unlock()
	asked := map[uint32]*request{}
	for {
		f, err := s.framer.ReadFrame()
		if err != nil {
			return
		}
		switch f := f.(type) {
		case *http2.SettingsFrame:
			s.settings(f)
		case *http2.PingFrame:
			if !f.IsAck() {
				s.mu.Lock()
				_ = s.framer.WritePing(true, f.Data)
				s.mu.Unlock()
			}
		case *http2.MetaHeadersFrame:
			q := &request{method: f.PseudoValue("method"), path: f.PseudoValue("path"), header: http.Header{}}
			for _, field := range f.RegularFields() {
				q.header.Add(field.Name, field.Value)
			}
			asked[f.StreamID] = q
			if f.StreamEnded() {
				s.ask(f.StreamID, q)
			}
		case *http2.DataFrame:
			q := asked[f.StreamID]
			q.body = append(q.body, f.Data()...)
			if f.StreamEnded() {
				s.ask(f.StreamID, q)
			}
		}
	}
}

func (s *server2) settings(f *http2.SettingsFrame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !f.IsAck() {
		_ = s.framer.WriteSettingsAck()
	} else if acked := s.how.acked; acked != nil {
		s.how.acked = nil
		acked(s)
	}
}

// ask has a request answered.
func (s *server2) ask(stream uint32, q *request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	if s.last > 0 && stream > s.last {
		return // as it has said
	}
	if s.how.take != nil && s.how.take(s, stream) {
		return
	}
	if s.open++; s.how.streams > 0 && s.open > int(s.how.streams) {
		_ = s.framer.WriteGoAway(stream, http2.ErrCodeProtocol, []byte("more streams than allowed"))
		_ = s.conn.Close()
		return
	}
	s.all.Go(func() {
		r, err := s.right(q.method, q.path, q.header, q.body)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.open--
		if err != nil {
			_ = s.conn.Close()
			return
		}
		if s.how.say != nil {
			s.how.say(s, stream, r)
		} else {
			s.usual(stream, r)
		}
	})
}

// setting is a parameter and its value.
func setting(id http2.SettingID, value uint32) []http2.Setting {
	return []http2.Setting{{ID: id, Val: value}}
}

// every is a take that does something with each n-th request.
func every(n int, do func(s *server2, stream uint32)) func(*server2, uint32) bool {
	return func(s *server2, stream uint32) bool {
		if s.asked%n != 0 {
			return false
		}
		do(s, stream)
		return true
	}
}

// behaviours2 are those of HTTP/2.
func behaviours2() []*behaviour2 {
	return []*behaviour2{
		{name: "plain"},
		{name: "takes three at once", settings: setting(http2.SettingMaxConcurrentStreams, 3), streams: 3, atOnce: 12},
		{
			name: "takes none, and then five", settings: setting(http2.SettingMaxConcurrentStreams, 0), streams: 5,
			atOnce: 12,
			acked: func(s *server2) {
				_ = s.framer.WriteSettings(setting(http2.SettingMaxConcurrentStreams, 5)...)
			},
		},
		{name: "goes away after each thirty", take: func(s *server2, stream uint32) bool {
			if s.asked == 30 {
				s.last = stream - 2
				_ = s.framer.WriteGoAway(s.last, http2.ErrCodeNo, nil) // this one is beyond, too
			}
			return s.asked == 30
		}},
		{name: "goes away in two steps", take: func(s *server2, stream uint32) bool {
			if s.asked == 30 {
				_ = s.framer.WriteGoAway(1<<31-1, http2.ErrCodeNo, nil)
				s.last = stream - 2
				_ = s.framer.WriteGoAway(s.last, http2.ErrCodeNo, nil)
			}
			return s.asked == 30
		}},
		{name: "refuses one of forty", take: every(40, func(s *server2, stream uint32) {
			_ = s.framer.WriteRSTStream(stream, http2.ErrCodeRefusedStream)
		})},
		{
			name: "resets each", take: every(1, func(s *server2, stream uint32) {
				_ = s.framer.WriteRSTStream(stream, http2.ErrCodeInternal)
			}),
			want: want{
				code: wirelab.Unavailable, or: new(wirelab.Internal),
				texts: []string{"INTERNAL_ERROR", "RST_STREAM"},
			},
		},
		{
			name: "closes on each", take: every(1, func(s *server2, _ uint32) { _ = s.conn.Close() }),
			want: want{code: wirelab.Unavailable, texts: []string{"EOF", "closed", "reset", "broken pipe", "lost"}},
		},
		{name: "window of nothing", settings: setting(http2.SettingInitialWindowSize, 0), acked: func(s *server2) {
			_ = s.framer.WriteSettings(setting(http2.SettingInitialWindowSize, 1000)...)
		}},
		{name: "byte by byte", say: func(s *server2, stream uint32, r reply) {
			s.headers(stream, strconv.Itoa(r.status), r.header, false)
			for i := range r.body {
				_ = s.framer.WriteData(stream, i == len(r.body)-1 && len(r.trailer) == 0, r.body[i:i+1])
			}
			if len(r.trailer) > 0 {
				s.headers(stream, "", r.trailer, true)
			}
		}},
		{name: "interim replies", say: func(s *server2, stream uint32, r reply) {
			s.headers(stream, "103", http.Header{"Link": {"</x>"}}, false)
			s.usual(stream, r)
		}},
		{
			name: "gzip", only: "h2c-json", say: func(s *server2, stream uint32, r reply) {
				r.body = gzipped(r.body)
				r.header.Set("Content-Encoding", "gzip")
				r.header.Del("Content-Length")
				s.usual(stream, r)
			},
			want: want{code: wirelab.Unimplemented, texts: []string{"gzip"}},
		},
		{
			name: "no trailers", only: "grpc", say: func(s *server2, stream uint32, r reply) {
				r.trailer = nil
				s.usual(stream, r)
			},
			want: want{code: wirelab.Internal, texts: []string{"trailer"}},
		},
	}
}

// TestHTTP2 has every driver call every server of HTTP/2.
func TestHTTP2(t *testing.T) {
	t.Parallel()
	for _, d := range drivers(t, "h2c-json", "grpc", "connect") {
		right := behind(t, d.cell)
		for _, b := range behaviours2() {
			if b.only != "" && b.only != d.cell.Protocol.Name {
				continue
			}
			t.Run(d.name+"/"+b.name, func(t *testing.T) {
				t.Parallel()
				address := front(t, func(conn net.Conn) {
					how := *b
					s := &server2{conn: conn, framer: http2.NewFramer(conn, conn), right: right, how: &how}
					s.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
					s.encoder = hpack.NewEncoder(&s.block)
					s.serve()
				})
				const calls = 120
				b.want.check(t, calls, d.drive(t, address, calls, cmp.Or(b.atOnce, 4)))
			})
		}
	}
}
