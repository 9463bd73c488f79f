package external

import (
	"regexp"
	"strings"

	"wirelab"
	"wirelab/internal/yamlform"
)

// Description is a service that is not ours, as its file has it.
type Description struct {
	// Service is its name: lower-case letters, digits and dashes.
	Service string `json:"service" yaml:"service"`
	About   string `json:"about,omitempty" yaml:"about,omitempty"`
	// Start says how to start it; nil: it is running. See docs/processes.md.
	Start *Start `json:"start,omitempty" yaml:"start,omitempty"`
	// Wires are the ways to reach it, by names that arms have.
	Wires map[string]WireText `json:"wires" yaml:"wires"`
	// Operations are what is called, by names.
	Operations map[string]OperationText `json:"operations" yaml:"operations"`
	// MayLoad is the host that may be loaded although it is not this machine.
	MayLoad string `json:"may_load,omitempty" yaml:"may_load,omitempty"`
}

// Start says how a service is started. The port to listen on is in $PORT of its environment and its command.
type Start struct {
	Run []string `json:"run,omitempty" yaml:"run,omitempty"`
	// Command is Run as one text, split as a shell would, without a shell.
	Command string            `json:"command,omitempty" yaml:"command,omitempty"`
	Dir     string            `json:"dir,omitempty" yaml:"dir,omitempty"`
	Env     map[string]string `json:"env,omitempty" yaml:"env,omitempty"`
	Ready   string            `json:"ready,omitempty" yaml:"ready,omitempty"`
	Build   string            `json:"build,omitempty" yaml:"build,omitempty"`
}

// WireText is a wire as a description has it.
type WireText struct {
	// Target is its URL: http, https, ws, wss, grpc or grpcs. Of a service that is started here the port is ignored.
	Target string `json:"target" yaml:"target"`
	// Kind is "http", "grpc", "graphql", "sse" or "websocket". Default: what the target's scheme says.
	Kind Kind `json:"kind,omitempty" yaml:"kind,omitempty"`
	// Version is "http1", "http2" or "http3". Default: http1; http2 of gRPC.
	Version string `json:"version,omitempty" yaml:"version,omitempty"`
	// Headers go with every request: of gRPC, as metadata. ${NAME} stands for a variable of the environment.
	Headers map[string]string `json:"headers,omitempty" yaml:"headers,omitempty"`
	// Schema is, of gRPC, "reflection" (the default), or a file: .proto, or .protoset.
	Schema      string   `json:"schema,omitempty" yaml:"schema,omitempty"`
	ImportPaths []string `json:"import_paths,omitempty" yaml:"import_paths,omitempty"`
	// OpenAPI is the file that operations are looked up in.
	OpenAPI string  `json:"openapi,omitempty" yaml:"openapi,omitempty"`
	TLS     TLSText `json:"tls,omitzero" yaml:"tls,omitempty"`
	Proxy   string  `json:"proxy,omitempty" yaml:"proxy,omitempty"`
	Unix    string  `json:"unix,omitempty" yaml:"unix,omitempty"` // path of a socket
	Cookies bool    `json:"cookies,omitempty" yaml:"cookies,omitempty"`
}

// TLSText is how a wire is reached over TLS: files in PEM.
type TLSText struct {
	CA       string `json:"ca,omitempty" yaml:"ca,omitempty"`
	Cert     string `json:"cert,omitempty" yaml:"cert,omitempty"`
	Key      string `json:"key,omitempty" yaml:"key,omitempty"`
	Name     string `json:"name,omitempty" yaml:"name,omitempty"`
	Insecure bool   `json:"insecure,omitempty" yaml:"insecure,omitempty"`
}

// OperationText is an operation as a description has it.
type OperationText struct {
	// Rows is a file, NDJSON or CSV: a request is made of each row, whose fields stand for {{.field}}. A file of
	// requests (HAR, .http, curl) has them whole.
	Rows string `json:"rows,omitempty" yaml:"rows,omitempty"`
	// Calls are what is sent, by the name of a wire.
	Calls map[string]CallText `json:"calls,omitempty" yaml:"calls,omitempty"`
	// Expect is what a right reply is: "learnt" (the default), "status", "schema" or "recorded".
	Expect Expect `json:"expect,omitempty" yaml:"expect,omitempty"`
	// Ignore are JSON pointers of what may differ from reply to reply.
	Ignore []string `json:"ignore,omitempty" yaml:"ignore,omitempty"`
	// Schema is the file of the JSON Schema of replies.
	Schema string `json:"schema,omitempty" yaml:"schema,omitempty"`
	// Status is what a right reply has: "200", "2xx", a code of gRPC, or several with commas between. Default: a
	// success.
	Status string `json:"status,omitempty" yaml:"status,omitempty"`
	// Repeatable is that a request may be sent again though its method does not say so.
	Repeatable *bool `json:"repeatable,omitempty" yaml:"repeatable,omitempty"`
	// Steps make the operation a chain of others, over each wire that has them all. Rows are then those of the chain:
	// {{.field}} in a call of a step stands for a row's field, or for what an earlier step saved.
	Steps []StepText `json:"steps,omitempty" yaml:"steps,omitempty"`
}

// StepText is one call of a chain.
type StepText struct {
	Call string `json:"call" yaml:"call"`
	// Save are what later steps use of its reply as {{.name}}, by names: JSON pointers, such as /items/0/id, or header
	// fields, as header:Location.
	Save map[string]string `json:"save,omitempty" yaml:"save,omitempty"`
}

// CallText is what a call sends over one wire, with {{.field}} for what is a row's.
type CallText struct {
	// Of HTTP, SSE and WebSocket.
	Method  string            `json:"method,omitempty" yaml:"method,omitempty"`
	Path    string            `json:"path,omitempty" yaml:"path,omitempty"`
	Query   map[string]string `json:"query,omitempty" yaml:"query,omitempty"`
	Headers map[string]string `json:"headers,omitempty" yaml:"headers,omitempty"`
	Body    any               `json:"body,omitempty" yaml:"body,omitempty"` // text as it is, anything else as JSON
	File    string            `json:"file,omitempty" yaml:"file,omitempty"` // whose bytes are the body
	// Operation is the operationId of an OpenAPI document, whose examples fill what is not given here.
	Operation string `json:"operation,omitempty" yaml:"operation,omitempty"`
	// Messages is how many events, or messages of a WebSocket, are read. Send are the messages that are sent.
	Messages int   `json:"messages,omitempty" yaml:"messages,omitempty"`
	Send     []any `json:"send,omitempty" yaml:"send,omitempty"`
	// Of gRPC: the method, as shop.Cart/AddItem, and its message, or its messages where requests are a stream.
	Call    string `json:"call,omitempty" yaml:"call,omitempty"`
	Message any    `json:"message,omitempty" yaml:"message,omitempty"`
	// Of GraphQL.
	Document  string         `json:"document,omitempty" yaml:"document,omitempty"`
	Variables map[string]any `json:"variables,omitempty" yaml:"variables,omitempty"`
}

// Expect says what a right reply is.
type Expect string

// The ways.
const (
	Learnt   Expect = "learnt"   // the first good reply to each request, compared
	Status   Expect = "status"   // any reply whose status is a success
	Schema   Expect = "schema"   // one that a JSON Schema describes
	Recorded Expect = "recorded" // the one that was recorded with the request
)

// SizeLimit is the most bytes of a description.
const SizeLimit = 256 << 10

// The forms of names.
var (
	serviceName   = regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`)
	operationName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]{0,39}$`)
)

// Parse reads a description and checks its form. name is the file's, for errors.
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

// ofField is the field that an error of a description begins with.
var ofField = regexp.MustCompile(`^(?:service|about|start|wires|operations|may_load)(?:\.[A-Za-z0-9_-]+)*: `)

// At says at which line of a description's file an error of [Prepare] is, and shows the line. Without a name there is
// no file, and the error is as it was; so is one that is of no field, which has a place of its own.
func At(name string, data []byte, err error) error {
	message := wirelab.Public(err).Message
	field := strings.TrimSuffix(ofField.FindString(message), ": ")
	if name == "" || field == "" {
		return err
	}
	return yamlform.OfField(name, data, field, message)
}
