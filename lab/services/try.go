package services

import (
	"context"
	"slices"
	"strings"
	"time"

	"wirelab"
	"wirelab/internal/fault"
	"wirelab/lab/plan"
	"wirelab/workload/external"
)

// Tried makes the first call twice, before all others, so that an unreachable service is reported at once and in
// plain words.
func (s *Services) Tried(ctx context.Context, operation string, arm plan.Arm) (external.Trial, error) {
	ctx, cancel := context.WithTimeout(ctx, trialTime)
	defer cancel()
	answered := s.Tell.Waiting("a first reply of "+arm.Target, trialTime)
	t, err := s.Made.Service.Try(ctx, arm.Protocol, wirelab.Dialing{Address: arm.Target, Foreign: true}, operation,
		true)
	answered()
	if err != nil {
		said := ""
		if len(t.Text) > 0 {
			said = ": " + firstWords(t.Text)
		}
		coded := wirelab.Public(err)
		return t, wirelab.Caused(wirelab.CauseOf(err), coded.Code, "the first call to %s failed: %s%s%s", arm.Name,
			s.Hidden(coded.Message), s.Hidden(said),
			hint(coded.Message+said, arm.Name))
	}
	return t, nil
}

// RawWhy says why the raw driver cannot make calls like the first one; "" if it can.
func (s *Services) RawWhy(operation string, arm plan.Arm, t external.Trial) string {
	if why := s.Made.Service.RawWhy(operation, arm.Protocol); why != "" || t.Reply.Proto != "HTTP/1.0" {
		return why
	}
	return "the server speaks HTTP/1.0, which opens a connection for each call"
}

// trialTime limits the first call.
const trialTime = 10 * time.Second

// Checked is the output of "own check --json" for one call.
type Checked struct {
	Operation string   `json:"operation"`
	Wire      string   `json:"wire"`
	Status    int      `json:"status,omitempty"`
	Bytes     int      `json:"bytes"`
	Reply     string   `json:"reply,omitempty"`
	Compared  string   `json:"compared,omitempty"`
	Vary      []string `json:"vary,omitempty"`
	Again     string   `json:"again,omitempty"` // why the same call was refused the second time
	Raw       string   `json:"raw,omitempty"`   // why the raw driver cannot carry it
	Error     string   `json:"error,omitempty"`
}

// Check makes the calls of one wire. If the description says how, it starts a server for them.
func (s *Services) Check(ctx context.Context, w external.Wire, operations []string) (all []Checked, err error) {
	address := w.Address
	if start := s.Made.starts[w.Name]; start != nil {
		server, err := s.launched(ctx, start, w.Name)
		if err != nil {
			return nil, err
		}
		defer func() { err = fault.Both(err, server.Stop()) }()
		address = server.Ready().Address
	}
	for _, o := range s.Made.Service.Operations {
		if _, carried := o.Calls[w.Name]; !carried || len(operations) > 0 && !slices.Contains(operations, o.Name) {
			continue
		}
		call := Checked{
			Operation: o.Name, Wire: w.Name, Raw: s.Made.Service.RawWhy(o.Name, w.Name),
			Compared: s.Made.Service.Says(w.Name, o.Name),
		}
		ctx, cancel := context.WithTimeout(ctx, trialTime)
		t, err := s.Made.Service.Try(ctx, w.Name, wirelab.Dialing{Address: address, Foreign: true}, o.Name, true)
		cancel()
		t.Vary = slices.DeleteFunc(t.Vary,
			func(at string) bool { return slices.Contains(o.Calls[w.Name].Rule.Ignore, at) })
		call.Status, call.Bytes, call.Reply, call.Vary = t.Reply.Status, len(t.Reply.Body),
			s.Hidden(firstWords(t.Text)), t.Vary
		switch {
		case err != nil && t.Once && !o.Repeatable: // a service may refuse to create the same thing twice
			call.Again = s.Hidden(wirelab.Public(err).Message)
		case err != nil:
			call.Error = s.Hidden(wirelab.Public(err).Message)
		case t.Whole:
			call.Vary = []string{"(all of it)"}
		}
		all = append(all, call)
	}
	return all, nil
}

// briefMost is the maximum number of characters of a reply that a line shows.
const briefMost = 200

// firstWords returns the beginning of a text, on one line.
func firstWords(text []byte) string {
	line := []rune(strings.Join(strings.Fields(strings.ToValidUTF8(string(text), "\uFFFD")), " "))
	if len(line) > briefMost {
		return string(line[:briefMost-1]) + "…"
	}
	return plan.Harmless(string(line), false)
}
