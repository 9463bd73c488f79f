package main

import (
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"wirelab/hermes/local"
	"wirelab/internal/programtest"
	"wirelab/nats"
	"wirelab/pipeline/stack"
	"wirelab/workload/logging"
)

// The programs of brokers are built from this source when a test first wants them, in
// folders that the end of all tests removes.
var (
	builtHermes = sync.OnceValues(func() (string, error) { return build("hermes") })
	builtNATS   = sync.OnceValues(func() (string, error) { return build("wirelab-nats") })
)

func build(name string) (string, error) {
	dir, err := sharedFolder("wirelab-program-")
	if err != nil {
		return "", err
	}
	return programtest.Build(dir, name)
}

// hermesProgram is the setting that tells where Hermes is.
func hermesProgram(t *testing.T) string {
	t.Helper()
	program, err := builtHermes()
	if err != nil {
		t.Fatal(err)
	}
	return local.ProgramVariable + "=" + program
}

// natsProgram is the setting that tells where the NATS server is.
func natsProgram(t *testing.T) string {
	t.Helper()
	program, err := builtNATS()
	if err != nil {
		t.Fatal(err)
	}
	return nats.ProgramVariable + "=" + program
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
	carriesByHermes(t, up, 2)
	var url string
	for _, part := range up.Parts {
		if part.Name == stack.Hermes {
			url = "hermes://" + part.Doors[stack.DoorGRPC]
		}
	}
	other, elsewhere := rise(t, []string{hermesVariable + "=" + url, local.ProgramVariable + "=/no/such/program"}, "--broker", "hermes", "--db", "memory")
	if len(elsewhere.Parts) != 3 {
		t.Errorf("beside a Hermes that runs there are %+v", elsewhere.Parts)
	}
	// Both listeners are of one group: either may take the entry, which is stored once.
	status, reply, err := post(t.Context(), elsewhere.Gateway+"/log-hermes", logging.Entry{ID: "elsewhere", Name: "n"})
	if err != nil || status != http.StatusAccepted || reply.Message != "logged via hermes" {
		t.Errorf("%d %+v, %v", status, reply, err)
	}
	for _, up := range []*program{other, p} {
		up.interrupt()
		up.want(exitOK, "stopping")
		up.wantNoneLeft()
	}
	q, _ := rising(t, []string{local.ProgramVariable + "=/no/such/program"}, "--broker", "hermes", "--db", "memory")
	if code := q.end(); code == exitOK || !strings.Contains(q.said.String(), local.ProgramVariable) {
		t.Errorf("without the program: %d, %s", code, q.said.String())
	}
}

// carriesByHermes sends an entry each way to a broker, and waits until all are stored.
func carriesByHermes(t *testing.T, up upStatus, ways int) {
	t.Helper()
	service := loggerAt(t, up.Parts)
	for _, url := range up.Paths {
		if !strings.Contains(url, "hermes") {
			continue
		}
		ways--
		id := filepath.Base(url)
		if status, reply, err := post(t.Context(), url, logging.Entry{ID: id, Name: "n"}); err != nil || status != http.StatusAccepted || reply.Message != "logged via hermes" {
			t.Errorf("%s: %d %+v, %v", url, status, reply, err)
		}
		eventually(t, url, func() bool {
			_, err := service.GetEntry(t.Context(), logging.EntryID{ID: id})
			return err == nil
		})
	}
	if ways != 0 {
		t.Errorf("%d ways are absent of %v", ways, up.Paths)
	}
}
