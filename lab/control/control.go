// Package control is what a conductor and its child processes say to each
// other: one JSON object a line, orders down the child's standard input,
// replies up its standard output, one reply for each order, in order. The
// parent's end is room target, the child's is room agent. When its input ends
// a child stops, so that none outlives the process that started it, however
// that ended.
package control

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"wirelab"
	"wirelab/lab/load"
	"wirelab/lab/plan"
	"wirelab/lab/result"
)

// LineLimit is the longest line, in bytes. The largest thing said is a
// recording of a few histograms, some tens of kilobytes.
const LineLimit = 16 << 20

// Order is what a child is told to do. Exactly one field is set.
type Order struct {
	// Usage asks for what the process has used so far.
	Usage *struct{} `json:"usage,omitempty"`
	// Relayed asks a relay what it has done since it was asked last.
	Relayed *struct{} `json:"relayed,omitempty"`
	// Dial tells a driver what to drive, beside what it has dialled before:
	// its loads are numbered on from those. Leave closes what the last Dial opened.
	Dial  *Dial     `json:"dial,omitempty"`
	Leave *struct{} `json:"leave,omitempty"`
	// Warm and Slice tell a driver to run one of its loads.
	Warm  *Warm  `json:"warm,omitempty"`
	Slice *Slice `json:"slice,omitempty"`
}

// MetMost bounds how many addresses of a target are kept: a name may have many, or other ones each time.
const MetMost = 64

// Reply is a child's answer to an order, or, as the first line of all, that it is ready.
type Reply struct {
	// Error is why the order could not be carried out; "" if it was.
	Error string        `json:"error,omitempty"`
	Ready *Ready        `json:"ready,omitempty"`
	Usage *result.Usage `json:"usage,omitempty"`
	// Pool is how a server used the connections to its database so far, beside
	// Usage; nil where it has none.
	Pool *wirelab.PoolUse `json:"pool,omitempty"`
	// Relayed is without CPU, which is read from outside.
	Relayed *result.Relayed `json:"relayed,omitempty"`
	Dialled *Dialled        `json:"dialled,omitempty"`
	Warm    *load.Warmth    `json:"warm,omitempty"`
	// Window is that windows of a warm-up are over, and that it goes on when it is told
	// what the server has used: see [Warm.Served].
	Window *struct{} `json:"window,omitempty"`
	Slice  *Measured `json:"slice,omitempty"`
	// Met are the addresses that a driver's connections to a target reached so far.
	Met []string `json:"met,omitempty"`
}

// Ready is what a child says once it can be used.
type Ready struct {
	Address   string `json:"address,omitempty"`   // of a server or a relay: host:port
	Authority string `json:"authority,omitempty"` // of a secure server: PEM to trust
	// Broker is the message broker of a pipeline that has one, or the cluster of brokers
	// that messages are sent to; with its version where it tells it.
	Broker string `json:"broker,omitempty"`
	// Guarantee is how a pipeline hands an entry on, or what a message broker promises when
	// it acknowledges; nil of another server.
	Guarantee *result.Guarantee `json:"handover,omitempty"`
	// Journals are the URLs of those of a pipeline, by which entries are followed.
	Journals []string `json:"journals,omitempty"`
	// Stores is that a reply says that what the call handed over is stored: of a server
	// without journals, compared with some that have them.
	Stores   bool   `json:"stores,omitempty"`
	Database string `json:"database,omitempty"` // of a server that has one: what it is, with its version
	// Endpoints are the addresses of a part of a pipeline, by what they are for.
	Endpoints map[string]string `json:"doors,omitempty"`
	// Stage is the URL of what is asked to do something to a message broker, and
	// what its processes use; "" of another server, and of a broker that runs elsewhere.
	Stage string `json:"stage,omitempty"`
}

// Dial says which cell to drive, where its server is, and the loads to prepare.
type Dial struct {
	Workload string `json:"workload"`
	Protocol string `json:"protocol"`
	Server   string `json:"server,omitempty"` // library, to name the cell
	Client   string `json:"client,omitempty"` // library
	Raw      bool   `json:"raw,omitempty"`    // by the raw driver, no library
	Tool     string `json:"tool,omitempty"`   // by this program of others, as package tool knows it
	// Described is that the raw driver sends what the protocol's own client was seen to send, as to a service that is
	// not ours. Seen is what that was, by operation: the driver itself finds it out.
	Described bool              `json:"described,omitempty"`
	Seen      map[string][]Seen `json:"-"`
	Own       bool              `json:"own,omitempty"`  // the driver has a core of its own
	Data      string            `json:"data,omitempty"` // set; "" is the workload's first
	Address   string            `json:"address"`
	Authority string            `json:"authority,omitempty"`
	TLS       *TLS              `json:"tls,omitempty"` // of a target
	// External is the service at Address where it is not one of ours: what package workload/external
	// prepared. Workload and Protocol name it, and its wire. nil: it is of ours.
	External json.RawMessage `json:"external,omitempty"`
	// Target is that the server at Address is not one of ours.
	Target bool   `json:"target,omitempty"`
	Seed   uint64 `json:"seed"` // of this driver: its callers draw from it
	// Once is mixed into the seed of operations whose requests may be made once,
	// and is unlike that of any other driver.
	Once uint64 `json:"once,omitempty"`
	// Journals are the URLs of the journals of the services behind Address, by
	// which what calls hand over is followed until it is stored; nil: a reply is
	// all there is.
	Journals []string `json:"journals,omitempty"`
	// Stores is that replies say that what was handed over is stored, which then is
	// followed by them; there are no journals.
	Stores bool `json:"stores,omitempty"`
	// Patience is how long entries that are not stored are waited for while none
	// is stored. 0: 5 s.
	Patience plan.Duration `json:"patience,omitempty"`
	// Broker says how the message broker at Address, whose nodes are separated by
	// commas there, is to be used; nil of another server.
	Broker *Broker `json:"broker,omitempty"`
	// Deadline is what each call gets.
	Deadline plan.Duration `json:"deadline"`
	Loads    []Load        `json:"loads"`
}

// Seen is a request of HTTP that a client was seen to send.
type Seen struct {
	Method, URL string
	Header      map[string][]string
	Body        []byte
	HTTP2       bool   // and else HTTP/1.1
	Schema      []byte // the file descriptor set, of a call of gRPC
}

// TLS is how a server that somebody else runs is reached over TLS. Authority says which to
// trust there too.
type TLS struct {
	Certificate string `json:"certificate,omitempty"` // PEM of what the driver shows
	Key         string `json:"key,omitempty"`         // PEM
	ServerName  string `json:"server_name,omitempty"`
	Insecure    bool   `json:"insecure,omitempty"`
}

// Dialled is how it went to dial.
type Dialled struct {
	// Pace is how long a call took, the slowest of the first of each load: what time
	// loads need is told by it. 0: there were no calls.
	Pace plan.Duration `json:"pace"`
	// TLS are the versions that the connections negotiated, "1.3"; nil without TLS.
	TLS []string `json:"tls,omitempty"`
	// Learnt are digests of what the first calls were answered, by their requests, where replies are compared with
	// those: "OPERATION INDEX DIGEST". Of services that are not ours, and of their first requests only.
	Learnt []string `json:"learnt,omitempty"`
}

// Broker says how a message broker is to be used.
type Broker struct {
	Durability string `json:"durability"`
	Variant    string `json:"variant,omitempty"`   // of how it keeps a topic
	Ephemeral  bool   `json:"ephemeral,omitempty"` // no node is going to be killed
	Stage      string `json:"stage,omitempty"`     // as in Ready
}

// Load is a load to prepare.
type Load struct {
	Operation   string         `json:"operation"`
	Requests    string         `json:"requests,omitempty"` // "" is the operation's first way
	InFlight    int            `json:"in_flight"`          // workers
	Connections int            `json:"connections"`        // to hold
	Schedule    *load.Schedule `json:"schedule,omitempty"`
	// Streams are held open instead of making calls, Rate events per second
	// each, read at the share Reader of it; 0: as fast as can be. InFlight and
	// Schedule then have no meaning.
	Streams int     `json:"streams,omitempty"`
	Rate    int64   `json:"rate,omitempty"`
	Reader  float64 `json:"reader,omitempty"`
	// Messages says what is sent through a broker; the zero value is of a load that
	// makes calls, or holds streams. InFlight are then sends.
	Messages Messages `json:"messages,omitzero"`
}

// Messages is what is particular to a load of messages: see [plan.Load].
type Messages struct {
	Scenario string        `json:"scenario"`
	Size     int           `json:"size"`
	Batch    int           `json:"batch"`
	Groups   int           `json:"groups"`
	Delay    plan.Duration `json:"delay,omitempty"`
}

// Warm orders a load to be warmed up: at least so long, and until steady.
type Warm struct {
	Load  int           `json:"load"`
	Least plan.Duration `json:"least"`
	// Limit is how long it may take in all; 0: no limit.
	Limit plan.Duration `json:"limit,omitempty"`
	// Served is the CPU time that the server has used so far; nil where nobody knows. With
	// it the reply may be Window instead of Warm: the same order then says it again.
	Served *plan.Duration `json:"served,omitempty"`
}

// Slice orders one measured slice of a load.
type Slice struct {
	Load int           `json:"load"`
	For  plan.Duration `json:"for"`
	// Head is the part at the start that is not recorded.
	Head plan.Duration `json:"head,omitempty"`
	// Seed draws the slice's arrivals.
	Seed uint64 `json:"seed"`
	// Schedule stands in for the load's, where a rate is tried that was not
	// known when it was dialled; nil: the load's own. Parts is [load.Plan.Parts].
	Schedule *load.Schedule `json:"schedule,omitempty"`
	Parts    int            `json:"parts,omitempty"`
	// Whole is [load.Plan.Whole].
	Whole bool `json:"whole,omitempty"`
}

// Measured is what a driver measured in a slice.
type Measured struct {
	Recording    *load.Recording `json:"recording"`
	Usage        result.Usage    `json:"usage"` // of the driver, from first call to last
	Calls        uint64          `json:"calls"` // made meanwhile, those of the head included
	WireSent     uint64          `json:"wire_sent"`
	Payload      uint64          `json:"payload,omitempty"` // of WireSent, where the driver knows
	WireReceived uint64          `json:"wire_received"`
	Connections  uint64          `json:"connections"` // opened in the slice
	Open         uint64          `json:"open"`        // at its end
	result.Particulars
}

// Reader reads lines of type T. A line that is too long or not what is
// expected is an error: two ends that no longer understand each other cannot
// measure.
type Reader[T any] struct{ lines *bufio.Scanner }

// NewReader returns a reader of r.
func NewReader[T any](r io.Reader) *Reader[T] {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, LineLimit)
	return &Reader[T]{lines: lines}
}

// Read returns the next object, or io.EOF when the other end has stopped.
func (r *Reader[T]) Read() (T, error) {
	var value T
	if !r.lines.Scan() {
		err := r.lines.Err()
		if err == nil {
			err = io.EOF
		}
		return value, err
	}
	if err := json.Unmarshal(r.lines.Bytes(), &value); err != nil {
		return value, fmt.Errorf("control line: %w", err)
	}
	return value, nil
}

// Write writes one object as a line.
func Write(w io.Writer, value any) error {
	line, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if len(line) >= LineLimit {
		return errors.New("control line is too long")
	}
	_, err = w.Write(append(line, '\n'))
	return err
}
