// Package control has the messages between a runner and its child processes: one JSON object a line, orders on the
// child's standard input, replies on its standard output, one reply for each order, in order. The parent's side is
// package target, the child's is package agent. A child stops when its input ends, so that none outlives the process
// that started it, however that ended.
package control

import (
	"encoding/json"

	"wirelab"
	"wirelab/lab/load"
	"wirelab/lab/plan"
	"wirelab/lab/result"
)

// Order is what a child shall do. Exactly one field is set.
type Order struct {
	// Usage asks for what the process has used so far.
	Usage *struct{} `json:"usage,omitempty"`
	// Relayed asks a relay what it has done since the last such order.
	Relayed *struct{} `json:"relayed,omitempty"`
	// Dial makes a driver connect loads, in addition to those of earlier Dial orders. The indices of the new loads
	// follow theirs. Leave closes what the last Dial opened.
	Dial  *Dial     `json:"dial,omitempty"`
	Leave *struct{} `json:"leave,omitempty"`
	// Warm and Slice make a driver run one of its loads.
	Warm  *Warm  `json:"warm,omitempty"`
	Slice *Slice `json:"slice,omitempty"`
}

// MetMost limits how many addresses of a target are kept: a host name may have many, or other ones each time.
const MetMost = 64

// Reply is a child's reply to an order. The first line, without an order, says that the child is ready.
type Reply struct {
	// Error says why the order could not be carried out; "" if it was.
	Error string        `json:"error,omitempty"`
	Ready *Ready        `json:"ready,omitempty"`
	Usage *result.Usage `json:"usage,omitempty"`
	// Pool is how a server used the connections to its database so far, together with Usage; nil if it has no database.
	Pool *wirelab.PoolUse `json:"pool,omitempty"`
	// Relayed has no CPU time, which is read from outside.
	Relayed *result.Relayed `json:"relayed,omitempty"`
	Dialled *Dialled        `json:"dialled,omitempty"`
	Warm    *load.Warmth    `json:"warm,omitempty"`
	// Window says that the order's windows of a warm-up are over, and that the warm-up continues with the next value of
	// [Warm.Served].
	Window *struct{} `json:"window,omitempty"`
	Slice  *Measured `json:"slice,omitempty"`
	// Met has the addresses that a driver's connections to a target reached so far.
	Met []string `json:"met,omitempty"`
}

// Ready is what a child reports once it can be used.
type Ready struct {
	Address   string `json:"address,omitempty"`   // of a server or a relay: host:port
	Authority string `json:"authority,omitempty"` // of a secure server: the CA certificate to trust, in PEM
	// Broker is the message broker of a pipeline, or the cluster of brokers for messages, with its version if the
	// broker reports it; "" if there is none.
	Broker string `json:"broker,omitempty"`
	// Guarantee says how a pipeline passes an entry on, or which guarantee a message broker gives with an
	// acknowledgement; nil for another server.
	Guarantee *result.Guarantee `json:"handover,omitempty"`
	// Journals are the URLs of a pipeline's journals, by which entries are followed.
	Journals []string `json:"journals,omitempty"`
	// Stores is set if a reply says that the entry of the call is stored. It is for a server without journals that is
	// compared with servers that have them.
	Stores   bool   `json:"stores,omitempty"`
	Database string `json:"database,omitempty"` // of a server that has one: its name and version
	// Endpoints has the addresses of a component of a pipeline, by purpose.
	Endpoints map[string]string `json:"doors,omitempty"`
	// Stage is the URL of the fault server, which makes faults in a message broker and reports what its processes use;
	// "" for another server, and for a broker that runs elsewhere.
	Stage string `json:"stage,omitempty"`
}

// Dial says which cell to drive, where its server is, and which loads to prepare.
type Dial struct {
	Workload string `json:"workload"`
	Protocol string `json:"protocol"`
	Server   string `json:"server,omitempty"` // library, which names the cell
	Client   string `json:"client,omitempty"` // library
	Raw      bool   `json:"raw,omitempty"`    // by the raw driver, without a library
	Tool     string `json:"tool,omitempty"`   // by this external program, a name that package tool knows
	// Described makes the raw driver send the requests that the protocol's own client was seen to send, as to an
	// external service. Seen has those requests, by operation. The driver fills it in.
	Described bool              `json:"described,omitempty"`
	Seen      map[string][]Seen `json:"-"`
	Own       bool              `json:"own,omitempty"`  // the driver has a CPU core to itself
	Data      string            `json:"data,omitempty"` // data set; "" is the workload's first
	Address   string            `json:"address"`
	Authority string            `json:"authority,omitempty"`
	TLS       *TLS              `json:"tls,omitempty"` // of a target
	// External describes the external service at Address, as package workload/external prepared it. Workload and
	// Protocol name the service and its wire. nil: the service is one of wirelab's.
	External json.RawMessage `json:"external,omitempty"`
	// Target is set if wirelab did not start the server at Address.
	Target bool   `json:"target,omitempty"`
	Seed   uint64 `json:"seed"` // of this driver: its callers draw from it
	// Once is mixed into the seed of operations whose requests can be made only once. It differs from that of every
	// other driver.
	Once uint64 `json:"once,omitempty"`
	// Journals are the URLs of the journals of the services behind Address. They show when the entry of a call is
	// stored. nil: there is only the reply.
	Journals []string `json:"journals,omitempty"`
	// Stores is set if replies say that the entry is stored. Entries are then followed by their replies, and there are
	// no journals.
	Stores bool `json:"stores,omitempty"`
	// Patience is how long to wait for entries while none is stored. 0: 5 s.
	Patience plan.Duration `json:"patience,omitempty"`
	// Broker says how to use the message broker at Address, which lists its nodes separated by commas; nil for another
	// server.
	Broker *Broker `json:"broker,omitempty"`
	// Deadline is the deadline of each call.
	Deadline plan.Duration `json:"deadline"`
	Loads    []Load        `json:"loads"`
}

// Seen is an HTTP request that a client was seen to send.
type Seen struct {
	Method, URL string
	Header      map[string][]string
	Body        []byte
	HTTP2       bool   // otherwise HTTP/1.1
	Schema      []byte // the file descriptor set of a gRPC call
}

// TLS says how to connect over TLS to a server that wirelab did not start. Dial.Authority has the CA certificate to
// trust here too.
type TLS struct {
	Certificate string `json:"certificate,omitempty"` // PEM of the driver's own certificate
	Key         string `json:"key,omitempty"`         // PEM
	ServerName  string `json:"server_name,omitempty"`
	Insecure    bool   `json:"insecure,omitempty"`
}

// Dialled is the result of a Dial order.
type Dialled struct {
	// Pace is how long a call took: the slowest load's, by its first calls. It tells how much time loads need. 0: there
	// were no calls.
	Pace plan.Duration `json:"pace"`
	// TLS has the versions that the connections negotiated, such as "1.3"; nil without TLS.
	TLS []string `json:"tls,omitempty"`
	// Learnt has digests of the replies to the first calls, if replies are compared with those: "OPERATION INDEX
	// DIGEST". Only external services have them, and only for their first requests.
	Learnt []string `json:"learnt,omitempty"`
}

// Broker says how to use a message broker.
type Broker struct {
	Durability string `json:"durability"`
	Variant    string `json:"variant,omitempty"`   // of how the broker keeps a topic
	Ephemeral  bool   `json:"ephemeral,omitempty"` // no node is going to be killed
	Stage      string `json:"stage,omitempty"`     // as in Ready
}

// Load describes a load to prepare.
type Load struct {
	Kind        plan.Kind      `json:"kind,omitempty"` // "" is of calls
	Operation   string         `json:"operation"`
	Requests    string         `json:"requests,omitempty"` // "" is the first request set of the operation
	InFlight    int            `json:"in_flight"`          // workers
	Connections int            `json:"connections"`        // how many to hold open
	Schedule    *load.Schedule `json:"schedule,omitempty"`
	// Streams is how many streams are held open instead of making calls. Each sends Rate events per second (0: as fast
	// as possible), and is read at the share Reader of that rate. InFlight and Schedule then have no meaning.
	Streams int     `json:"streams,omitempty"`
	Rate    int64   `json:"rate,omitempty"`
	Reader  float64 `json:"reader,omitempty"`
	// Messages says what is sent through a broker; its zero value means a load that makes calls or holds streams. With
	// messages, InFlight counts sends.
	Messages Messages `json:"messages,omitzero"`
}

// Messages has the settings of a load of messages: see [plan.Load].
type Messages struct {
	Scenario string        `json:"scenario"`
	Size     int           `json:"size"`
	Batch    int           `json:"batch"`
	Groups   int           `json:"groups"`
	Delay    plan.Duration `json:"delay,omitempty"`
}

// Warm is the order to warm a load up, for at least Least and until it is steady.
type Warm struct {
	Load  int           `json:"load"`
	Least plan.Duration `json:"least"`
	// Limit is how long the warm-up may take in all; 0: no limit.
	Limit plan.Duration `json:"limit,omitempty"`
	// Served is the CPU time that the server has used so far; nil if it is unknown. If it is set, the reply may be
	// Window instead of Warm. Then the same order is repeated with the new value.
	Served *plan.Duration `json:"served,omitempty"`
}

// Slice is the order to run one measured slice of a load.
type Slice struct {
	Load int           `json:"load"`
	For  plan.Duration `json:"for"`
	// Head is the time at the start that is not recorded.
	Head plan.Duration `json:"head,omitempty"`
	// At is when it is to begin, by the driver's clock, in ns since 1970; 0: at once.
	At int64 `json:"at,omitempty"`
	// Seed seeds the arrivals of the slice.
	Seed uint64 `json:"seed"`
	// Schedule replaces that of the load, to try a rate that was not known when the load was dialled; nil: the load's
	// own. Parts is [load.Plan.Parts].
	Schedule *load.Schedule `json:"schedule,omitempty"`
	Parts    int            `json:"parts,omitempty"`
	// Whole is [load.Plan.Whole].
	Whole bool `json:"whole,omitempty"`
}

// Measured is what a driver measured in a slice.
type Measured struct {
	Recording    *load.Recording `json:"recording"`
	Usage        result.Usage    `json:"usage"` // of the driver, from first call to last
	Calls        uint64          `json:"calls"` // made in the slice, those of the head included
	WireSent     uint64          `json:"wire_sent"`
	Payload      uint64          `json:"payload,omitempty"` // of WireSent, if the driver knows it
	WireReceived uint64          `json:"wire_received"`
	Connections  uint64          `json:"connections"` // opened in the slice
	Open         uint64          `json:"open"`        // at the end of the slice
	// Drivers are what each driver measured, where several did. It crosses no pipe: who joins them is the runner.
	Drivers []result.DriverShare `json:"-"`
	result.Particulars
}
