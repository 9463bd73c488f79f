package stack

import (
	"encoding/json"
	"errors"

	"wirelab"
	"wirelab/broker/workqueue"
)

// Variable is the environment variable that tells a child which part it is to
// be, as JSON of a [Config]: it may hold passwords, and other users see command
// lines, but not environments.
const Variable = "WIRELAB_PART"

// The names of endpoints: what a component's addresses are for.
const (
	EndpointHTTP  = "http"
	EndpointGRPC  = "grpc"
	EndpointRPC   = "net/rpc"
	EndpointAMQP  = "amqp"
	EndpointNATS  = "nats"
	EndpointWatch = "watch" // health and journal, if no other endpoint has them
)

// Config says which component a child is. Exactly one of the pointers is set.
type Config struct {
	// Listen has the addresses of its endpoints, by name: host:port.
	Listen map[string]string `json:"listen"`
	// Faults is whether its log of failures leaves out peers that are away.
	Faults   bool      `json:"faults,omitempty"`
	Logger   *Logger   `json:"logger,omitempty"`
	Listener *Listener `json:"listener,omitempty"`
	Gateway  *Gateway  `json:"gateway,omitempty"`
}

// Logger is the component logger: endpoints http, grpc, net/rpc and watch.
type Logger struct {
	Database wirelab.DatabaseAddress `json:"database"` // Kind "": memory
}

// Listener is the component listener: endpoint watch. It hands entries on to a logger, or stores them itself.
type Listener struct {
	Queue Queue  `json:"queue"`
	HTTP  string `json:"http,omitempty"` // the logger's endpoint, host:port, or
	GRPC  string `json:"grpc,omitempty"` // this one, or
	// Database is where it stores entries itself.
	Database *wirelab.DatabaseAddress `json:"database,omitempty"`
}

// Gateway is the component gateway: endpoint http. Paths without an address are absent.
type Gateway struct {
	HTTP   string           `json:"http"` // the logger's endpoints: host:port
	GRPC   string           `json:"grpc"`
	RPC    string           `json:"rpc"`
	Watch  string           `json:"watch"`
	Queues map[string]Queue `json:"queues,omitempty"` // by the path's name
	// Absent has the reasons why paths are absent, by their names. A path that was not asked for needs none.
	Absent map[string]string `json:"absent,omitempty"`
	// Published adds to each path one that does what the published client did; its name ends with "-published".
	Published bool `json:"published,omitempty"`
	// Origins may call the gateway from their pages.
	Origins []string `json:"origins,omitempty"`
}

// Queue is a queue at a broker.
type Queue struct {
	Broker  string            `json:"broker"` // one of [Brokers]
	URL     string            `json:"url"`
	Options workqueue.Options `json:"options"`
	// PublishedTopology is [Broker.PublishedTopology].
	PublishedTopology bool `json:"published_topology,omitempty"`
}

// ParseConfig reads the value of [Variable]. The error of any other text is InvalidArgument.
func ParseConfig(text string) (Config, error) {
	var c Config
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		// Of the text nothing is shown: it may hold passwords.
		return c, wirelab.Errorf(wirelab.InvalidArgument, "$%s does not say which part to be", Variable)
	}
	set := 0
	for _, is := range []bool{c.Logger != nil, c.Listener != nil, c.Gateway != nil} {
		if is {
			set++
		}
	}
	if set != 1 {
		return c, wirelab.Errorf(wirelab.InvalidArgument, "$%s says %d parts to be, want one", Variable, set)
	}
	return c, nil
}

// text is the variable's setting, for a child's environment.
func (c Config) text() (string, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return "", errors.Join(errors.New("a part's configuration"), err)
	}
	return Variable + "=" + string(text), nil
}
