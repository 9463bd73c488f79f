package main

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"wirelab/broker/kinds"
	"wirelab/cmd/internal/desk"
	"wirelab/hermes/local"
	"wirelab/pipeline/stack"
	"wirelab/system/nats"
	"wirelab/workload/logging"
)

// hermesProgram is the setting that tells where Hermes is.
func hermesProgram(t *testing.T) string {
	t.Helper()
	return local.ProgramVariable + "=" + built(t, "hermes")
}

// natsProgram is the setting that tells where the NATS server is.
func natsProgram(t *testing.T) string {
	t.Helper()
	return nats.ProgramVariable + "=" + built(t, "wirelab-nats")
}

// built is a program of a broker, from this source.
func built(t *testing.T, name string) string {
	t.Helper()
	program, err := shared.Build(name)
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// A pipeline with Hermes comes up, by the program that lies where it is said to, and
// carries an entry each way to the store; one that runs elsewhere is used by its
// address. Without the program the command says what to do.
func TestUpLoggingWithHermes(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	p, up := rise(t, []string{hermesProgram(t)}, "--broker", "hermes", "--direct", "--db", "embedded")
	if said := p.said.String(); !strings.Contains(said, "hermes is up: Hermes ") {
		t.Errorf("said %s", said)
	}
	carriesByHermes(p, up, 2)
	var url string
	for _, part := range up.Parts {
		if part.Name == stack.Hermes {
			url = "hermes://" + part.Endpoints[stack.EndpointGRPC]
		}
	}
	other, elsewhere := rise(t,
		[]string{kinds.HermesVariable + "=" + url, local.ProgramVariable + "=/no/such/program"}, "--broker", "hermes",
		"--db", "memory")
	if len(elsewhere.Parts) != 3 {
		t.Errorf("next to a Hermes that runs there are %+v", elsewhere.Parts)
	}
	// Both listeners are of one group: either may take the entry, which is stored once.
	status, reply, err := post(t.Context(), elsewhere.Gateway+"/log-hermes", logging.Entry{ID: "elsewhere", Name: "n"})
	if err != nil || status != http.StatusAccepted || reply.Message != "logged via hermes" {
		t.Errorf("%d %+v, %v", status, reply, err)
	}
	for _, up := range []*program{other, p} {
		up.interrupt()
		up.want(desk.ExitOK, "stopping")
		up.wantNoneLeft()
	}
	q, _ := rising(t, []string{local.ProgramVariable + "=/no/such/program"}, "--broker", "hermes", "--db", "memory")
	if code := q.end(); code == desk.ExitOK || !strings.Contains(q.said.String(), local.ProgramVariable) {
		t.Errorf("without the program: %d, %s", code, q.said.String())
	}
}

// carriesByHermes sends an entry each way to a broker, and waits until all are stored.
func carriesByHermes(p *program, up upStatus, ways int) {
	t := p.t
	t.Helper()
	service := loggerAt(t, up.Parts)
	for _, url := range up.Paths {
		if !strings.Contains(url, "hermes") {
			continue
		}
		ways--
		id := filepath.Base(url)
		if status, reply, err := post(t.Context(), url, logging.Entry{ID: id, Name: "n"}); err != nil ||
			status != http.StatusAccepted || reply.Message != "logged via hermes" {
			t.Errorf("%s: %d %+v, %v", url, status, reply, err)
		}
		p.eventually(url, func() bool {
			_, err := service.GetEntry(t.Context(), logging.EntryID{ID: id})
			return err == nil
		})
	}
	if ways != 0 {
		t.Errorf("%d ways are absent of %v", ways, up.Paths)
	}
}
