package main

import (
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/goccy/go-yaml"

	"wirelab/broker/kinds"
	"wirelab/cmd/internal/desk"
	"wirelab/lab/experiment"
	"wirelab/system/postgres/postgrestest"
	"wirelab/system/rabbitmq/rabbitmqtest"
	"wirelab/workload/logging"
)

// The command of the compose file's container brings a pipeline up, with the variables that the file sets, and with
// the topology that it names. A container is not made: what runs is the program itself, at other addresses.
func TestPipelineCompose(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	text, err := os.ReadFile("../../build/deploy/pipeline/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Services map[string]struct {
			Command     []string
			Environment map[string]string
		}
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	of := file.Services["pipeline"]
	if want := []string{
		kinds.AMQPVariable,
		experiment.DatabaseVariable,
	}; !slices.Equal(slices.Sorted(maps.Keys(of.Environment)), want) {
		t.Fatalf("it sets %v, want %q", of.Environment, want)
	}
	if len(of.Command) < 2 || !slices.Equal(of.Command[:2], []string{"up", "logging"}) {
		t.Fatalf("it runs %q", of.Command)
	}
	args, anywhere := []string{"--published-topology"}, regexp.MustCompile(`0\.0\.0\.0:\d+`)
	for _, arg := range of.Command[2:] {
		args = append(args, anywhere.ReplaceAllString(arg, "127.0.0.1:0"))
	}
	postgrestest.Need(t)
	environment := []string{
		kinds.AMQPVariable + "=" + rabbitmqtest.Shared(t),
		experiment.DatabaseVariable + "=" + postgrestest.Fresh(t),
	}
	p, up := rise(t, environment, args...)
	status, reply, err := post(t.Context(), up.Gateway+"/log-rabbit",
		logging.Entry{ID: "queued", Name: "event", Data: "<data>"})
	if err != nil || status != http.StatusAccepted || reply.Data.ID != "queued" {
		t.Errorf("%d, %+v, %v", status, reply, err)
	}
	service := loggerAt(t, up.Parts)
	eventually(t, "the entry", func() bool {
		list, err := service.ListEntries(t.Context(), logging.Query{})
		return err == nil && slices.ContainsFunc(list.Entries, func(e logging.Stored) bool {
			return e.ID == "queued" && e.Data == "<data>"
		})
	})
	p.interrupt()
	p.want(desk.ExitOK)
}
