package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"wirelab"
	"wirelab/cmd/internal/cli"
	"wirelab/internal/fieldnames"
	"wirelab/internal/input"
	"wirelab/lab/plan"
	"wirelab/lab/trust"
	"wirelab/workload/catalog"
)

// dataLimit is the most bytes of a request given as JSON.
const dataLimit = 16 << 20

// callFlags are the flags of "call".
type callFlags struct {
	protocol, client, target, data string
	secure                         secureFlags
	timeout                        time.Duration
	asJSON                         *bool
}

// callReport is what "call --json" prints.
type callReport struct {
	Workload  string            `json:"workload"`
	Operation string            `json:"operation"`
	Protocol  string            `json:"protocol"`
	Client    string            `json:"client"`
	Target    string            `json:"target"`
	Request   string            `json:"request"` // in words
	Reply     []json.RawMessage `json:"reply"`
	Took      plan.Duration     `json:"took"`          // with connecting
	TLS       string            `json:"tls,omitempty"` // version that was negotiated: "TLS 1.2"
	Error     *callError        `json:"error,omitempty"`
}

type callError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Cause   string `json:"cause"` // why: "refused", "reset", "timed out", "status 503"
}

func newCallCommand(a *app) *cobra.Command {
	var f callFlags
	c := &cobra.Command{
		Use:   "call WORKLOAD.OPERATION --protocol PROTOCOL --target HOST:PORT",
		Short: "Make one call to a server and print its reply",
		Long: `Call makes one call over a protocol and prints the reply as JSON, one item on a
line. The request is JSON too: an object, or an array of objects for a stream of
requests. "-" reads the request from standard input, "@FILE" from a file. Without
--request, wirelab draws one from the data set of the workload.

The time "took" in --json includes connecting. It is not a measurement.`,
		Example: `  wirelab call routeguide.GetFeature --protocol grpc --target 127.0.0.1:9000 \
      --request '{"latitude": 409146138, "longitude": -746188906}'
  wirelab call routeguide.RecordRoute --protocol http1-json --target 127.0.0.1:8080 --request @route.json
  wirelab call routeguide.ListFeatures --protocol http3-proto --target 127.0.0.1:8443 --ca authority.pem`,
		Args: a.operationArgument("one WORKLOAD.OPERATION", func(protocol string) string {
			return "write it as --protocol " + protocol + ", and an operation before it, such as routeguide.GetFeature"
		}),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return a.Operations(), cobra.ShellCompDirectiveNoFileComp
		},
	}
	c.Flags().StringVar(&f.protocol, "protocol", "", "protocol to call over; see wirelab matrix")
	c.Flags().StringVar(&f.client, "client", "", "library to call with (default: the usual one)")
	c.Flags().StringVar(&f.target, "target", "", "HOST:PORT of the server")
	c.Flags().StringVar(&f.data, "request", "", "request in JSON, - for standard input, @FILE for a file (default: a random one)")
	f.secure.register(c.Flags())
	c.Flags().DurationVar(&f.timeout, "timeout", 5*time.Second, "longest time to wait, including connecting")
	f.asJSON = c.Flags().Bool("json", false, "print request, reply and error as one JSON document")
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.call(c.Context(), args[0], c.Flags().Changed("request"), f)
	}
	return c
}

// call makes the call and prints what came of it.
func (a *app) call(ctx context.Context, what string, hasData bool, f callFlags) error {
	cell, op, err := a.callee(what, f)
	if err != nil {
		return err
	}
	var version atomic.Uint32
	to := wirelab.Dialing{Address: f.target, Foreign: true, Secured: func(state tls.ConnectionState) { version.Store(uint32(state.Version)) }}
	secure, err := trust.Read(ctx, f.secure.TLS, a.Now())
	if err != nil {
		return err
	}
	if err := secure.Give(&to); err != nil {
		return err
	}
	var data []byte
	if hasData {
		if data, err = a.readData(ctx, f.data); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	began := a.Now()
	answered := a.Waiting("a reply of "+f.target, f.timeout)
	request, reply, callErr := ask(ctx, cell, to, op.Name, data)
	took := a.Now().Sub(began)
	answered()
	if callErr != nil && request == nil && hasData && wirelab.CodeOf(callErr) == wirelab.InvalidArgument {
		return cli.Usage("--request: %s", describe(callErr)) // it was never sent
	}
	asked, err := fieldnames.JSON(request)
	if err != nil {
		return err
	}
	items := make([]json.RawMessage, len(reply))
	for i, item := range reply {
		if items[i], err = fieldnames.JSON(item); err != nil {
			return err
		}
	}
	if callErr != nil {
		callErr = explainCall(ctx, cell, op.Name, f, callErr)
	}
	if !*f.asJSON {
		if !hasData && callErr == nil {
			a.Note("asked %s", asked)
		}
		for _, item := range items {
			if err := a.Printf("%s\n", item); err != nil {
				return err
			}
		}
		return callErr
	}
	report := callReport{
		Workload: cell.Workload, Operation: op.Name, Protocol: cell.Protocol.Name, Client: cell.Client,
		Target: f.target, Request: string(asked), Reply: items, Took: plan.Duration(took),
	}
	if spoken := version.Load(); spoken != 0 {
		report.TLS = tls.VersionName(uint16(spoken))
	}
	if callErr != nil {
		coded := wirelab.Public(callErr)
		report.Error = &callError{coded.Code.String(), coded.Message, string(wirelab.CauseOf(callErr))}
	}
	return cli.Both(callErr, a.PrintJSON(report))
}

// ask connects, calls once and disconnects.
func ask(ctx context.Context, cell wirelab.Cell, to wirelab.Dialing, operation string, data []byte) (request any, reply []any, err error) {
	client, err := cell.Dial(ctx, to)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = cli.Both(err, client.Close()) }()
	return client.Call(ctx, operation, data)
}

// callee finds what is to be called, and refuses what no server need be asked.
func (a *app) callee(what string, f callFlags) (wirelab.Cell, wirelab.OperationInfo, error) {
	fail := func(err error) (wirelab.Cell, wirelab.OperationInfo, error) {
		return wirelab.Cell{}, wirelab.OperationInfo{}, err
	}
	workload, name, dotted := strings.Cut(what, ".")
	w, err := a.Work(workload)
	if err != nil {
		return fail(err)
	}
	op, err := catalog.OperationOf(w, name)
	if err != nil {
		return fail(err)
	}
	switch {
	case !dotted:
		return fail(cli.Usage("%.100q is not WORKLOAD.OPERATION%s", what, wirelab.Known(what, a.Operations(), "wirelab matrix")))
	case f.protocol == "":
		return fail(cli.Usage("--protocol is missing; %s is carried over %s", w.Name, strings.Join(catalog.ProtocolNames(w), ", ")))
	case f.timeout <= 0:
		return fail(cli.Usage("--timeout is %v; it must be above 0", f.timeout))
	}
	cell, err := a.Cell(workload, f.protocol, "", f.client)
	if err != nil {
		return fail(err)
	}
	if f.target == "" {
		return fail(cli.Usage("--target is missing; start a server with wirelab serve %s %s and give its HOST:PORT", w.Name, cell.Protocol.Name))
	}
	if _, err := plan.ParseArm(cell.Protocol.Name + ",target=" + f.target); err != nil {
		return fail(cli.Usage("--target: %q is not HOST:PORT, such as 127.0.0.1:9000", f.target))
	}
	if reason, hole := cell.Holes[op.Name]; hole {
		return fail(cli.Usage("%s cannot carry %s: %s", cell.Protocol.Name, op.Name, reason))
	}
	return cell, op, nil
}

// readData returns the request from where --request says.
func (a *app) readData(ctx context.Context, data string) (text []byte, err error) {
	switch {
	case data == "-":
		text, err = a.readFile(ctx, "--request", data, dataLimit)
	case strings.HasPrefix(data, "@"):
		text, err = a.readFile(ctx, "--request", data[1:], dataLimit)
	default:
		text, err = input.UTF8([]byte(data)) // a shell may have kept the mark of a file
	}
	if err != nil {
		return nil, err
	}
	return append([]byte{}, text...), nil // not nil: nil would be drawn
}

// explainCall says what failed and, where the server was not reached, what to
// look at. Its exit code is that of a failure, whatever the server's code.
func explainCall(ctx context.Context, cell wirelab.Cell, operation string, f callFlags, err error) error {
	if errors.Is(context.Cause(ctx), context.Canceled) {
		return context.Canceled
	}
	coded := wirelab.Public(err)
	hint := ""
	switch coded.Code {
	case wirelab.Unavailable:
		hint = "; check that a server of " + cell.Workload + " over " + cell.Protocol.Name + " listens there (start one: wirelab serve " + cell.Workload + " " + cell.Protocol.Name + ")"
		if cell.Protocol.Secure {
			hint += " and that --ca names its authority"
			if wirelab.CauseOf(err) == wirelab.BadTLS {
				hint += ", and --server-name a name in its certificate; --insecure takes any certificate"
			}
		}
	case wirelab.DeadlineExceeded:
		hint = "; no reply within " + f.timeout.String() + ": check that the server speaks " + cell.Protocol.Name + ", or raise --timeout"
	}
	return cli.With(exitFailed, wirelab.Caused(wirelab.CauseOf(err), coded.Code, "%s over %s at %s: %s: %s%s",
		operation, cell.Protocol.Name, f.target, coded.Code, coded.Message, hint))
}
