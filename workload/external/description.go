package external

import (
	"regexp"
	"strings"

	"wirelab"
	"wirelab/internal/yamlform"
)

// Description is a service that is not ours, as its file describes it.
type Description struct {
	// Service is its name: lower-case letters, digits and dashes.
	Service string `json:"service" yaml:"service"`
	About   string `json:"about,omitempty" yaml:"about,omitempty"`
	// Start says how to start it; nil: it is running already. See docs/processes.md.
	Start *Start `json:"start,omitempty" yaml:"start,omitempty"`
	// Wires are the ways to reach it, by the names that arms use.
	Wires map[string]WireText `json:"wires" yaml:"wires"`
	// Operations are the operations to call, by name.
	Operations map[string]OperationText `json:"operations" yaml:"operations"`
	// MayLoad is a host that may be loaded although it is not this machine.
	MayLoad string `json:"may_load,omitempty" yaml:"may_load,omitempty"`
}

// Start says how to start a service. $PORT in its environment and its command is the port to listen on.
type Start struct {
	Run []string `json:"run,omitempty" yaml:"run,omitempty"`
	// Command is Run as one text. It is split as by a shell, but no shell runs it.
	Command string            `json:"command,omitempty" yaml:"command,omitempty"`
	Dir     string            `json:"dir,omitempty" yaml:"dir,omitempty"`
	Env     map[string]string `json:"env,omitempty" yaml:"env,omitempty"`
	Ready   string            `json:"ready,omitempty" yaml:"ready,omitempty"`
	Build   string            `json:"build,omitempty" yaml:"build,omitempty"`
}

// WireText is a wire in a description.
type WireText struct {
	// Target is its URL: http, https, ws, wss, grpc or grpcs. For a service that is started here the port is
	// ignored.
	Target string `json:"target" yaml:"target"`
	// Kind is "http", "grpc", "graphql", "sse" or "websocket". Default: that of the target's scheme.
	Kind Kind `json:"kind,omitempty" yaml:"kind,omitempty"`
	// Version is "http1", "http2" or "http3". Default: http1; http2 for gRPC.
	Version string `json:"version,omitempty" yaml:"version,omitempty"`
	// Headers are sent with every request; for gRPC, as metadata. ${NAME} is replaced by a variable of the
	// environment.
	Headers map[string]string `json:"headers,omitempty" yaml:"headers,omitempty"`
	// Schema is, for gRPC, "reflection" (the default), or a file: .proto, or .protoset.
	Schema      string   `json:"schema,omitempty" yaml:"schema,omitempty"`
	ImportPaths []string `json:"import_paths,omitempty" yaml:"import_paths,omitempty"`
	// OpenAPI is the file in which operations are looked up.
	OpenAPI string  `json:"openapi,omitempty" yaml:"openapi,omitempty"`
	TLS     TLSText `json:"tls,omitzero" yaml:"tls,omitempty"`
	Proxy   string  `json:"proxy,omitempty" yaml:"proxy,omitempty"`
	Unix    string  `json:"unix,omitempty" yaml:"unix,omitempty"` // path of a socket
	Cookies bool    `json:"cookies,omitempty" yaml:"cookies,omitempty"`
}

// TLSText configures TLS for a wire, with files in PEM.
type TLSText struct {
	CA       string `json:"ca,omitempty" yaml:"ca,omitempty"`
	Cert     string `json:"cert,omitempty" yaml:"cert,omitempty"`
	Key      string `json:"key,omitempty" yaml:"key,omitempty"`
	Name     string `json:"name,omitempty" yaml:"name,omitempty"`
	Insecure bool   `json:"insecure,omitempty" yaml:"insecure,omitempty"`
}

// OperationText is an operation in a description.
type OperationText struct {
	// Rows is a file, NDJSON or CSV: a request is made of each row, whose fields replace {{.field}}. A file of
	// requests (HAR, .http, curl) contains complete requests.
	Rows string `json:"rows,omitempty" yaml:"rows,omitempty"`
	// Calls are the requests, by the name of a wire.
	Calls map[string]CallText `json:"calls,omitempty" yaml:"calls,omitempty"`
	// Expect defines a right reply: "learnt" (the default), "status", "schema" or "recorded".
	Expect Expect `json:"expect,omitempty" yaml:"expect,omitempty"`
	// Ignore are JSON pointers to values that may differ from reply to reply.
	Ignore []string `json:"ignore,omitempty" yaml:"ignore,omitempty"`
	// Schema is the file of the JSON Schema of replies.
	Schema string `json:"schema,omitempty" yaml:"schema,omitempty"`
	// Status is the status of a right reply: "200", "2xx", a gRPC code, or several separated by commas. Default: a
	// success.
	Status string `json:"status,omitempty" yaml:"status,omitempty"`
	// Repeatable says that a request may be sent again although its method does not imply it.
	Repeatable *bool `json:"repeatable,omitempty" yaml:"repeatable,omitempty"`
	// Steps make the operation a chain of others, over each wire that has them all. Rows are then those of the
	// chain: {{.field}} in a call of a step is a field of the row, or a value that an earlier step saved.
	Steps []StepText `json:"steps,omitempty" yaml:"steps,omitempty"`
}

// StepText is one call of a chain.
type StepText struct {
	Call string `json:"call" yaml:"call"`
	// Save names the values of its reply that later steps use as {{.name}}: JSON pointers, such as /items/0/id, or
	// header fields, such as header:Location.
	Save map[string]string `json:"save,omitempty" yaml:"save,omitempty"`
}

// CallText is the request of a call over one wire, with {{.field}} for the value of a row.
type CallText struct {
	// For HTTP, SSE and WebSocket.
	Method  string            `json:"method,omitempty" yaml:"method,omitempty"`
	Path    string            `json:"path,omitempty" yaml:"path,omitempty"`
	Query   map[string]string `json:"query,omitempty" yaml:"query,omitempty"`
	Headers map[string]string `json:"headers,omitempty" yaml:"headers,omitempty"`
	Body    any               `json:"body,omitempty" yaml:"body,omitempty"` // text unchanged, anything else as JSON
	File    string            `json:"file,omitempty" yaml:"file,omitempty"` // a file with the bytes of the body
	// Operation is the operationId of an OpenAPI document, whose examples supply the parts that are not given here.
	Operation string `json:"operation,omitempty" yaml:"operation,omitempty"`
	// Messages is how many events, or messages of a WebSocket, are read. Send are the messages to send.
	Messages int   `json:"messages,omitempty" yaml:"messages,omitempty"`
	Send     []any `json:"send,omitempty" yaml:"send,omitempty"`
	// For gRPC: the method, such as shop.Cart/AddItem, and its message, or its messages if the requests are a
	// stream.
	Call    string `json:"call,omitempty" yaml:"call,omitempty"`
	Message any    `json:"message,omitempty" yaml:"message,omitempty"`
	// For GraphQL.
	Document  string         `json:"document,omitempty" yaml:"document,omitempty"`
	Variables map[string]any `json:"variables,omitempty" yaml:"variables,omitempty"`
}

// Expect defines a right reply.
type Expect string

// The kinds of expectations.
const (
	Learnt   Expect = "learnt"   // the first good reply to each request, compared
	Status   Expect = "status"   // any reply whose status is a success
	Schema   Expect = "schema"   // one that matches a JSON Schema
	Recorded Expect = "recorded" // the one that was recorded with the request
)

// SizeLimit is the maximum length of a description in bytes.
const SizeLimit = 256 << 10

// The syntax of names.
var (
	serviceName   = regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`)
	operationName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]{0,39}$`)
)

// Parse parses a description and validates its structure. name is that of the file, for errors.
func Parse(name string, data []byte) (Description, error) {
	form := yamlform.Form{What: "description", Needs: "names a service, wires and operations", Limit: SizeLimit}
	d, err := yamlform.Read[Description](form, name, data)
	if err != nil {
		return d, err
	}
	if err := d.check(); err != nil {
		return d, At(name, data, err)
	}
	return d, nil
}

// ofField matches the field that begins an error of a description.
var ofField = regexp.MustCompile(`^(?:service|about|start|wires|operations|may_load)(?:\.[A-Za-z0-9_-]+)*: `)

// At adds the line in the file of a description to an error of [Prepare], and shows that line. It returns the error
// unchanged if name is empty, since there is no file, and if the error belongs to no field or has its own place.
func At(name string, data []byte, err error) error {
	message := wirelab.Public(err).Message
	field := strings.TrimSuffix(ofField.FindString(message), ": ")
	if name == "" || field == "" {
		return err
	}
	return yamlform.OfField(name, data, field, message)
}
