// Package trial runs another load generator against a service with known response times, together with a driver of
// wirelab as a control client, and compares their results. It knows what tools may be given and the truth about the
// service. It must not know what a tool's output means.
package trial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"wirelab"
	"wirelab/internal/fault"
	"wirelab/internal/process"
	"wirelab/lab/audit"
	"wirelab/lab/control"
	"wirelab/lab/inject"
	"wirelab/lab/plan"
	"wirelab/lab/progress"
	"wirelab/lab/target"
	"wirelab/workload/routeguide"
	"wirelab/workload/routeguide/gen"
	"wirelab/workload/routeguide/schema"
)

// Trial describes how to try a tool.
type Trial struct {
	Tool, Parser, Protocol, Inject string
	Rate                           string // calls per second that the command asks for; "": as its options say
	Length, Timeout                time.Duration
	Alone                          bool // without a control client
	Quiet                          bool // do not print the command
}

// Audited is the result of one audit, as --json prints it.
type Audited struct {
	Command       string        `json:"command"` // as run
	Protocol      string        `json:"protocol"`
	Inject        string        `json:"inject"`
	Took          time.Duration `json:"took_ns"`
	ControlClient *audit.Report `json:"witness,omitempty"`
	audit.Finding
}

// Truth returns the response time distribution of a behaviour.
func Truth(text string) (inject.Truth, error) {
	behaviour, err := inject.Parse(text)
	if err != nil {
		return inject.Truth{}, err
	}
	truth, ok := behaviour.Truth()
	if !ok {
		return truth, wirelab.Errorf(wirelab.InvalidArgument,
			"--inject %q makes no call wait, so that there is no truth to compare with; "+
				"try 'frozen 1ms 500ms 5s'", text)
	}
	return truth, nil
}

// Known returns the parser that the flags or the command name, and what the command asks for. If neither names a
// parser, the returned one has no name.
func (f Trial) Known() (parser audit.Parser, asked audit.Asked, err error) {
	words := audit.Words(f.Tool)
	if f.Parser != "" {
		if parser, err = audit.ParserNamed(f.Parser); err != nil {
			return parser, asked, err
		}
	} else {
		parser, _ = audit.ParserOf(words)
	}
	asked = parser.Asked(words)
	if f.Rate != "" {
		if asked.Rate, err = plan.ParseRate(f.Rate); err != nil {
			return parser, asked, err
		}
	}
	if f.Length < 0 {
		return parser, asked, wirelab.Errorf(wirelab.InvalidArgument, "--for %v: want more than 0", f.Length)
	}
	if f.Length > 0 {
		asked.For, asked.Requests = f.Length, 0
	}
	return parser, asked, nil
}

// GuessProtocol guesses from the command which protocol a tool speaks.
func GuessProtocol(command, tool string) string {
	switch {
	case tool == "ghz", audit.Uses(command, "method"), strings.Contains(command, " -grpc"):
		return "grpc"
	case tool == "h2load" && !strings.Contains(command, "--h1"):
		return "h2c-proto"
	}
	return "http1-json"
}

// Run starts the server, runs the tool and stops the server.
func Run(ctx context.Context, tell progress.Teller, cell wirelab.Cell, f Trial, truth inject.Truth, tool string,
	done *Audited,
) (o audit.Output, err error) {
	folder, err := os.MkdirTemp("", "wirelab-audit-")
	if err != nil {
		return o, fmt.Errorf("a folder for the tool's files: %w", err)
	}
	defer func() { err = fault.Both(err, os.RemoveAll(folder)) }()
	program, err := os.Executable()
	if err != nil {
		return o, err
	}
	server, err := target.Start(ctx, process.Command{
		Name: "service to audit against", Path: program,
		Args: []string{
			"serve", cell.Workload, cell.Protocol.Name, "--addr", "127.0.0.1:0", "--controlled", "--inject",
			f.Inject,
		},
	})
	if err != nil {
		return o, err
	}
	defer func() {
		// All measurements are done by now. A server that died by itself shows in the tool's errors, and one that stops
		// slowly does no harm.
		if e := server.Stop(); e != nil {
			tell.Note("service to audit against: %v", e)
		}
	}()
	return RunTool(ctx, tell, folder, program, server.Ready(), cell, f, truth, tool, done)
}

// RunTool runs the tool against a service that is ready, with a control client next to it.
func RunTool(
	ctx context.Context, tell progress.Teller, folder, program string, ready control.Ready,
	cell wirelab.Cell, f Trial, truth inject.Truth, tool string, done *Audited,
) (o audit.Output, err error) {
	files := Files(folder, ready.Address, ready.Authority, tool)
	if err := files.write(); err != nil {
		return o, err
	}
	if done.Command, err = files.Values.Fill(f.Tool); err != nil {
		return o, err
	}
	if !f.Quiet {
		tell.Note("running %s", done.Command)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, f.Timeout,
		wirelab.Errorf(wirelab.DeadlineExceeded, "the tool did not end within %v and was ended; --timeout allows more",
			f.Timeout))
	defer cancel()
	// The control client waits for a reply to each of its first calls. If replies take long, these calls take longer
	// than a period of the service, and the control client measures nothing of use.
	if !f.Alone && truth.Mean() < time.Second/2 {
		w, err := beginControl(ctx, program, cell, ready, truth)
		if err != nil {
			return o, err
		}
		defer func() {
			var failed error
			done.ControlClient, failed = w.end()
			err = fault.Both(err, failed)
		}()
	}
	ended := tell.Waiting("the tool", f.Timeout)
	o, done.Took, err = audit.Execute(ctx, done.Command)
	ended()
	if text, e := os.ReadFile(files.Values["out"]); e == nil {
		o.File = string(text)
	} else if !errors.Is(e, os.ErrNotExist) {
		err = fault.Both(err, e)
	}
	return o, err
}

// Provided is what a tool may be given: the values of the placeholders, and the content of the files among them.
type Provided struct {
	Values audit.Placeholders
	files  map[string]string // path to content
}

// Files returns what the tool may be given against a service.
func Files(folder, address, authority, tool string) Provided {
	scheme := "http://"
	if authority != "" {
		scheme = "https://"
	}
	at := routeguide.Published
	place := fmt.Sprintf("lo.latitude=%d&lo.longitude=%d&hi.latitude=%d&hi.longitude=%d", at.Latitude, at.Longitude,
		at.Latitude, at.Longitude)
	body := fmt.Sprintf(`{"latitude":%d,"longitude":%d}`, at.Latitude, at.Longitude)
	method := gen.File_route_guide_proto.Services().ByName("RouteGuide").Methods().ByName("GetFeature")
	p := Provided{Values: audit.Placeholders{
		"target": scheme + address + "/v1/route.getFeature",
		// The only path that takes GET. It lists features, here those of one place.
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
		p.Values["bodyfile"]: body,
		p.Values["proto"]:    schema.Proto(),
		p.Values["ca"]:       authority,
	}
	if text, ending, ok := audit.Script(tool, p.Values["target"], body); ok {
		p.Values["script"] += ending
		p.files[p.Values["script"]] = text
	}
	return p
}

// write writes the files.
func (p Provided) write() error {
	for name, text := range p.files {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			return fmt.Errorf("a file for the tool: %w", err)
		}
	}
	return nil
}
