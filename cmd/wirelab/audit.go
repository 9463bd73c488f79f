package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wirelab"
	"wirelab/cmd/internal/cli"
	"wirelab/lab/audit"
	"wirelab/lab/control"
	"wirelab/lab/inject"
	"wirelab/lab/plan"
	"wirelab/lab/target"
	"wirelab/workload/routeguide"
	"wirelab/workload/routeguide/gen"
	"wirelab/workload/routeguide/schema"
)

const auditText = `Audit runs another load generator against a service with known response times,
and compares what the tool reports with what is true.

The service answers in 1 ms, but stops for the last 500 ms of every 5 s. So the
true median is 1 ms, and the true 95th percentile is 251 ms. A tool that waits
for an answer before it sends the next call leaves out the slow calls, and
reports a few milliseconds.

The shell runs the command. You can use these placeholders in it:

  {target}    URL that answers a POST of {body}
  {get}       URL that answers a GET
  {address}   host:port of the service
  {body}      JSON request; {data} is the same
  {bodyfile}  file that holds it
  {method}    full name of the gRPC method
  {proto}     .proto file of the service; it answers to reflection too
  {script}    script for wrk, wrk2 or k6 that sends the request; k6's reads
              RATE, DURATION, VUS and MAXVUS from k6 -e
  {out}       file for the tool's own results, which are then read before what
              it prints
  {ca}        file with the authority to trust, for protocols with TLS

Audit quotes the values for you. It reads the output of fortio, ghz, h2load,
hey, k6, oha, vegeta, wrk and wrk2 (text, or JSON if the tool has it). Give the
tool a constant rate, and run it for a multiple of 5 s.

A value is true if it is at most 10 % and 1 ms too high, or 10 % and 0.1 ms too
low; the percentile may be one point off. wirelab makes 20 calls a second of its
own at the same time. If these have to wait too long, the machine is too busy,
and the tool is not blamed for values that are too high.

Exit code 0: the tool reports true latencies; 1: it does not; 3: it could not be
judged; 64: the command is wrong, or the tool is not installed.`

const auditExample = `  wirelab audit --tool "hey -z 20s -q 20 -c 10 -m POST -T application/json -d {body} {target}"
  wirelab audit --tool "ghz --insecure --rps 200 -c 10 -n 4000 --call {method} -d {data} {address}"
  wirelab audit --tool "k6 run -e RATE=200 -e DURATION=20s --summary-trend-stats 'avg,max,p(50),p(90),p(95),p(99)' {script}"`

// auditDetails is what --help-all explains beside it.
const auditDetails = `Other tools:

  wirelab audit --tool "wrk -t 2 -c 10 -d 20s --latency -s {script} {target}"
  wirelab audit --tool "oha --no-tui -z 20s -q 200 -c 10 -m POST -T \
      application/json -d {body} {target}"
  wirelab audit --tool "oha --no-tui -z 20s -q 200 -c 10 --latency-correction \
      {get}"
  wirelab audit --tool "echo POST {target} | vegeta attack -rate 200 -duration \
      20s -body {bodyfile} | vegeta report"
  wirelab audit --tool "fortio load -qps 200 -c 10 -t 20s -p \
      50,75,90,95,99,99.9 -payload {body} {target}"
  wirelab audit --tool "h2load -n 4000 -c 10 -m 1 --rps 20 -d {bodyfile} \
      --log-file {out} {target}"
  wirelab audit --tool "wrk2 -t 2 -c 10 -d 20s -R 200 --latency -s {script} \
      {target}"`

// auditFlags are what is typed.
type auditFlags struct {
	tool, parser, protocol, inject string
	rate                           string
	length, timeout                time.Duration
	alone                          bool
	json, markdown, verbose        bool
}

func newAuditCommand(a *app) *cobra.Command { return auditCommand(a, a.runAudited) }

// auditRunner runs the tool against a service, and notes what it was run as.
type auditRunner func(
	ctx context.Context, cell wirelab.Cell, f auditFlags, truth inject.Truth, tool string, done *audited,
) (audit.Output, error)

// auditCommand is the command with a way to run the tool.
func auditCommand(a *app, run auditRunner) *cobra.Command {
	var f auditFlags
	command := &cobra.Command{
		Use:     "audit --tool 'COMMAND with {target}'",
		Short:   "Check whether another load generator reports true latencies",
		Long:    auditText,
		Example: auditExample,
		Args:    cli.Arguments(0, 0, "no arguments"),
		RunE: func(command *cobra.Command, _ []string) error {
			return a.audit(command.Context(), f, run)
		},
	}
	flags := command.Flags()
	flags.StringVar(&f.tool, "tool", "", "the tool's `command`, with placeholders (required)")
	flags.StringVar(&f.protocol, "protocol", "", "`protocol` of the service (default: grpc for ghz and fortio -grpc, h2c-proto for h2load, else http1-json)")
	flags.StringVar(&f.inject, "inject", "frozen 1ms 500ms 5s", "`behaviour` of the service; see wirelab serve --help")
	flags.StringVar(&f.parser, "parser", "", "read the output as that of this `tool` (default: recognised by its command or output)")
	flags.StringVar(&f.rate, "rate", "", "calls per `second` in all that the command asks for (default: read from its options)")
	flags.DurationVar(&f.length, "for", 0, "how long the command sends (default: read from its options)")
	flags.DurationVar(&f.timeout, "timeout", 5*time.Minute, "stop the tool after this time")
	flags.BoolVar(&f.alone, "alone", false, "without the 20 calls a second that wirelab makes to tell a busy machine from a wrong tool")
	flags.BoolVar(&f.json, "json", false, "print JSON, for programs")
	flags.BoolVar(&f.markdown, "markdown", false, "print the rows of a Markdown table")
	flags.BoolVar(&f.verbose, "verbose", false, "print what the tool printed, on standard error")
	if err := command.MarkFlagRequired("tool"); err != nil {
		panic(err) // the flag is defined above
	}
	command.MarkFlagsMutuallyExclusive("json", "markdown")
	cli.Explain(command, auditDetails)
	return command
}

// audited is one audit, as --json prints it.
type audited struct {
	Command  string        `json:"command"` // as run
	Protocol string        `json:"protocol"`
	Inject   string        `json:"inject"`
	Took     time.Duration `json:"took_ns"`
	Witness  *audit.Report `json:"witness,omitempty"`
	audit.Finding
}

// audit runs the tool against the service and prints what came of it.
func (a *app) audit(ctx context.Context, f auditFlags, run auditRunner) error {
	if f.timeout <= 0 {
		return cli.Usage("--timeout %v: want more than 0", f.timeout)
	}
	if !audit.Uses(f.tool, "target", "get", "address", "script") {
		return cli.Usage("--tool %q: nothing in it says what to call; put {target} where the URL belongs, or {address}", f.tool)
	}
	truth, err := auditTruth(f.inject)
	if err != nil {
		return err
	}
	parser, asked, err := f.known()
	if err != nil {
		return err
	}
	if _, err := auditFiles("", "", "", parser.Name).values.Fill(f.tool); err != nil {
		return err
	}
	if f.protocol == "" {
		f.protocol = guessProtocol(f.tool, parser.Name)
	}
	cell, err := a.Cell("routeguide", f.protocol, "", "")
	if err != nil {
		return err
	}
	done := audited{Protocol: f.protocol, Inject: f.inject}
	output, err := run(ctx, cell, f, truth, parser.Name, &done)
	if f.verbose {
		for _, text := range []string{output.File, output.Stdout, output.Stderr} {
			if text != "" {
				a.Note("%s", strings.TrimRight(text, "\n"))
			}
		}
	}
	if err != nil {
		return unjudged(err)
	}
	if f.parser == "" {
		if found, ok := audit.ParserOfOutput(output); ok && (parser.Name == "" || !parser.Reads(output)) {
			parser = found
		}
	}
	if parser.Name == "" {
		return unjudged(wirelab.Errorf(wirelab.Unavailable,
			"the tool's output is of no known form; known are those of %s; --parser forces one, --verbose shows it",
			strings.Join(audit.Names(), ", ")))
	}
	report, err := parser.Parse(output)
	if err != nil {
		return unjudged(fmt.Errorf("%w; --verbose shows what it printed", err))
	}
	done.Finding = audit.Compare(audit.Run{Tool: parser.Name, Report: report, Asked: asked, Took: done.Took, Witness: done.Witness}, truth)
	if err := a.printAudit(done, f); err != nil {
		return err
	}
	switch done.Verdict {
	case audit.Truthful:
		return nil
	case audit.Untruthful:
		return cli.With(exitFailed, nil)
	}
	return cli.With(exitNoWord, nil)
}

// unjudged is the error of an audit that came to no verdict. What was typed was
// right by then, but for the name of a tool that is not there.
func unjudged(err error) error {
	if wirelab.CodeOf(err) == wirelab.NotFound {
		return cli.With(exitUsage, err)
	}
	return cli.With(exitNoWord, err)
}

// auditTruth returns the law of a behaviour.
func auditTruth(text string) (inject.Truth, error) {
	behaviour, err := inject.Parse(text)
	if err != nil {
		return inject.Truth{}, err
	}
	truth, ok := behaviour.Truth()
	if !ok {
		return truth, cli.Usage("--inject %q holds no call, so that there is no truth to tell; try 'frozen 1ms 500ms 5s'", text)
	}
	return truth, nil
}

// known returns the parser that the flags or the command name, one without a
// name if neither does, and what the command asks for.
func (f auditFlags) known() (parser audit.Parser, asked audit.Asked, err error) {
	words := audit.Words(f.tool)
	if f.parser != "" {
		if parser, err = audit.ParserNamed(f.parser); err != nil {
			return parser, asked, err
		}
	} else {
		parser, _ = audit.ParserOf(words)
	}
	asked = parser.Asked(words)
	if f.rate != "" {
		if asked.Rate, err = plan.ParseRate(f.rate); err != nil {
			return parser, asked, err
		}
	}
	if f.length < 0 {
		return parser, asked, cli.Usage("--for %v: want more than 0", f.length)
	}
	if f.length > 0 {
		asked.For, asked.Requests = f.length, 0
	}
	return parser, asked, nil
}

// guessProtocol returns the protocol that a tool speaks as it is called.
func guessProtocol(command, tool string) string {
	switch {
	case tool == "ghz", audit.Uses(command, "method"), strings.Contains(command, " -grpc"):
		return "grpc"
	case tool == "h2load" && !strings.Contains(command, "--h1"):
		return "h2c-proto"
	}
	return "http1-json"
}

// runAudited serves, runs the tool and stops the server again.
func (a *app) runAudited(ctx context.Context, cell wirelab.Cell, f auditFlags, truth inject.Truth, tool string, done *audited) (o audit.Output, err error) {
	folder, err := os.MkdirTemp("", "wirelab-audit-")
	if err != nil {
		return o, fmt.Errorf("a folder for the tool's files: %w", err)
	}
	defer func() { err = cli.Both(err, os.RemoveAll(folder)) }()
	program, err := os.Executable()
	if err != nil {
		return o, err
	}
	server, err := target.Start(ctx, target.Command{
		Name: "service to audit against", Path: program,
		Args: []string{"serve", cell.Workload, cell.Protocol.Name, "--addr", "127.0.0.1:0", "--controlled", "--inject", f.inject},
	})
	if err != nil {
		return o, err
	}
	defer func() {
		// By then all is measured: a server that died of itself shows in
		// the tool's errors, and one that is slow to stop spoils nothing.
		if e := server.Stop(); e != nil {
			a.Note("service to audit against: %v", e)
		}
	}()
	return a.runTool(ctx, folder, program, server.Ready(), cell, f, truth, tool, done)
}

// runTool runs the tool against a service that is ready, with the witness next to it.
func (a *app) runTool(
	ctx context.Context, folder, program string, ready control.Ready,
	cell wirelab.Cell, f auditFlags, truth inject.Truth, tool string, done *audited,
) (o audit.Output, err error) {
	files := auditFiles(folder, ready.Address, ready.Authority, tool)
	if err := files.write(); err != nil {
		return o, err
	}
	if done.Command, err = files.values.Fill(f.tool); err != nil {
		return o, err
	}
	if !f.json && !f.markdown {
		a.Note("running %s", done.Command)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, f.timeout,
		wirelab.Errorf(wirelab.DeadlineExceeded, "the tool did not end within %v and was ended; --timeout allows more", f.timeout))
	defer cancel()
	// Its first calls wait for an answer each: where those take long, a turn
	// of the service is short beside them and the witness worth nothing.
	if !f.alone && truth.Mean() < time.Second/2 {
		w, err := beginWitness(ctx, program, cell, ready, truth)
		if err != nil {
			return o, err
		}
		defer func() {
			var failed error
			done.Witness, failed = w.end()
			err = cli.Both(err, failed)
		}()
	}
	ended := a.Waiting("the tool", f.timeout)
	o, done.Took, err = audit.Execute(ctx, done.Command)
	ended()
	if text, e := os.ReadFile(files.values["out"]); e == nil {
		o.File = string(text)
	} else if !errors.Is(e, os.ErrNotExist) {
		err = cli.Both(err, e)
	}
	return o, err
}

// provided is what a tool may be given: what placeholders stand for, and the
// text of the files among it.
type provided struct {
	values audit.Placeholders
	files  map[string]string // path to text
}

// auditFiles returns what the tool may be given against a service.
func auditFiles(folder, address, authority, tool string) provided {
	scheme := "http://"
	if authority != "" {
		scheme = "https://"
	}
	at := routeguide.Published
	place := fmt.Sprintf("lo.latitude=%d&lo.longitude=%d&hi.latitude=%d&hi.longitude=%d", at.Latitude, at.Longitude, at.Latitude, at.Longitude)
	body := fmt.Sprintf(`{"latitude":%d,"longitude":%d}`, at.Latitude, at.Longitude)
	method := gen.File_route_guide_proto.Services().ByName("RouteGuide").Methods().ByName("GetFeature")
	p := provided{values: audit.Placeholders{
		"target": scheme + address + "/v1/route.getFeature",
		// The one path that is asked with GET: a list, here of one place.
		"get":      scheme + address + "/v1/route.listFeatures/events?" + place,
		"address":  address,
		"body":     body,
		"data":     body,
		"method":   string(method.FullName()),
		"bodyfile": filepath.Join(folder, "body.json"),
		"proto":    filepath.Join(folder, "route_guide.proto"),
		"script":   filepath.Join(folder, "script"),
		"ca":       filepath.Join(folder, "ca.pem"),
		"out":      filepath.Join(folder, "out"),
	}}
	p.files = map[string]string{
		p.values["bodyfile"]: body,
		p.values["proto"]:    schema.Proto(),
		p.values["ca"]:       authority,
	}
	if text, ending, ok := audit.Script(tool, p.values["target"], body); ok {
		p.values["script"] += ending
		p.files[p.values["script"]] = text
	}
	return p
}

// write writes the files.
func (p provided) write() error {
	for name, text := range p.files {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			return fmt.Errorf("a file for the tool: %w", err)
		}
	}
	return nil
}
