package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"wirelab/lab/plan"
	"wirelab/lab/result"
)

// modules maps the names of libraries in results to module paths, where they differ.
var modules = map[string]string{
	"grpc-go": "google.golang.org/grpc", "connect-go": "connectrpc.com/connect",
	"quic-go": "github.com/quic-go/quic-go",
	"gqlgen":  "github.com/99designs/gqlgen", "amqp091-go": "github.com/rabbitmq/amqp091-go",
	"nats.go":  "github.com/nats-io/nats.go",
	"franz-go": "github.com/twmb/franz-go",
}

// versioned adds its version to the name of a library, if the version is known. Libraries of Go's standard library
// have Go's version.
func versioned(e *result.Environment, library string) string {
	if version := e.Libraries[modules[library]]; version != "" {
		return library + " " + version
	}
	return library // the version of Go or of the broker follows anyway
}

// differences lists the differences between the published measurement and this one, apart from flaws, and what
// follows from them.
func differences(r *result.Result) []string {
	var lines []string
	there := said(r.Plan, func(f plan.Published) string { return f.Software })
	here := said(r.Plan, func(f plan.Published) string { return softwareHere(r, armAt(r, f.Arm)) })
	e := &r.Environment
	if here != "" {
		lines = append(lines, "Software there: "+cmp.Or(there,
			"libraries and versions are not stated")+". Here: "+here+"; Go "+
			cmp.Or(strings.TrimPrefix(e.Go, "go"), "of an unknown version")+".")
	}
	machine := strings.Join(filled(e.CPU, fmt.Sprintf("%d CPUs", e.CPUs), strings.TrimSpace(e.OS+" "+e.Kernel),
		choose(e.Virtual != "", "virtual ("+e.Virtual+")", "")), ", ")
	theirs := said(r.Plan, func(f plan.Published) string { return f.Machine })
	lines = append(lines, "Machine there: "+theirs+". Here: "+machine+".")
	if there != "" {
		return append(lines, "So the figures cannot be compared with each other. Only the order of the arms can be "+
			"compared, "+
			"and that is an order of such libraries on such machines; where those differ between the arms, it is "+
			"not one "+
			"of protocols alone.")
	}
	return append(lines, "So the figures cannot be compared with each other. Only the order of the arms can be "+
		"compared.")
}

// softwareHere names the libraries of an arm's server and driver.
func softwareHere(r *result.Result, arm int) string {
	if arm < 0 || arm >= len(r.Arms) {
		return ""
	}
	a, e := &r.Arms[arm], &r.Environment
	server, client := versioned(e, cmp.Or(a.Broker, r.ServedBy(arm))), versioned(e, a.Client)
	if r.Plan.Arms[arm].Raw() {
		client = "the raw driver"
	}
	both := server
	switch {
	case server == "":
		return ""
	case client != "" && client != server:
		both = server + " called by " + client
	}
	return strings.Join(filled(both, a.Database), " before ")
}

// said returns a text of published figures, each text once, with its arms if there are several texts.
func said(p plan.Plan, of func(plan.Published) string) string {
	var texts []string
	arms := map[string][]string{}
	for _, f := range p.Published {
		text := of(f)
		if text == "" {
			continue
		}
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
		if name := cmpName(f); !slices.Contains(arms[text], name) {
			arms[text] = append(arms[text], name)
		}
	}
	if len(texts) == 1 {
		return texts[0]
	}
	for i, text := range texts {
		texts[i] = text + " (" + List(arms[text]) + ")"
	}
	return strings.Join(texts, "; ")
}
