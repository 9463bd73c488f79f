package main

import (
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"wirelab/hermes/local"
	"wirelab/plan"
	"wirelab/result"
)

// messages are the flags of an experiment on messages that is quick rather than good.
func messages(arms []string, more ...string) []string {
	return append(append([]string{"compare"}, arms...), append([]string{
		"--workload", "messaging", "--rounds", "1", "--max-rounds", "1", "--slice", "800ms", "--seed", "5",
	}, more...)...)
}

// beginMessages begins one with Hermes at hand, whose clusters are in a directory of the
// test's own.
func beginMessages(t *testing.T, args ...string) *program {
	t.Helper()
	return beginWith(t, t.TempDir(), []string{hermesProgram(t), "TMPDIR=" + t.TempDir()}, args...)
}

// wantNothingLeft checks that neither a process nor a link of a segment stayed behind.
func wantNothingLeft(t *testing.T, p *program) {
	t.Helper()
	p.wantNoneLeft()
	eventually(t, "no link is left", func() bool {
		all, err := net.Interfaces()
		return err == nil && !slices.ContainsFunc(all, func(i net.Interface) bool { return strings.HasPrefix(i.Name, "wls") })
	})
}

// Two brokers are compared from end to end: each a cluster that is started for the round,
// a floor for each, every message accounted for, and what was promised in the arm's row.
func TestCompareMessages(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	p := beginMessages(t, messages([]string{"hermes-grpc-stream", "nats-jetstream,durability=default", "hermes-all"}, "--scenario", "live,fanout")...)
	if code := p.end(); code != exitOK && code != exitNoWord {
		t.Fatalf("exit code %d\n%s", code, p.said.String())
	}
	wantNothingLeft(t, p)
	for _, text := range []string{"all scenarios", "nats-jetstream,durability=default°", "acknowledges before a message is on disk", "What became of the messages", "3 nodes"} {
		if !strings.Contains(p.stdout.String(), text) {
			t.Errorf("the report lacks %q:\n%s", text, p.stdout.String())
		}
	}
	r := p.stored()
	if len(r.Rounds) != 1 || len(r.Rounds[0].Trials) != 6 {
		t.Fatalf("%d rounds: %+v", len(r.Rounds), r.Rounds)
	}
	for _, trial := range r.Rounds[0].Trials {
		m := trial.Messages
		groups := uint64(r.Plan.Loads[trial.Load].Groups)
		switch {
		case m == nil || m.Whole() != nil || m.Faults() > 0 || m.Acknowledged == 0 || m.Expected != m.Acknowledged*groups:
			t.Errorf("messages %+v", m)
		case m.Broker == nil || m.Broker.Memory == 0 || m.Broker.Network == 0 || trial.Server.CPU == 0 || trial.Driver.CPU == 0 || len(trial.Parts) != 3:
			t.Errorf("costs %+v, %+v", m.Broker, trial.Parts)
		case trial.Floor == nil || trial.Floor.Completed == 0:
			t.Errorf("no floor: %+v", trial.Floor)
		}
	}
	if wrong := result.Inconsistencies(r); len(wrong) > 0 {
		t.Error(wrong)
	}
}

// At whatever moment Ctrl-C comes, what was measured is kept and told, and nothing stays
// behind.
func TestMessagesAreInterrupted(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes a minute")
	}
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	whole := 0
	for range 6 {
		p := beginMessages(t, messages([]string{"hermes-grpc", "nats-jetstream"}, "--rate", "500", "--scenario", "live,slow,crash,leader-kill,partition")...)
		moment := time.Duration(random.Int64N(int64(25 * time.Second)))
		timer := time.AfterFunc(moment, func() { _ = p.command.Process.Signal(os.Interrupt) })
		code := p.within(2 * time.Minute).end()
		if timer.Stop() || code == exitOK { // it was over before
			continue
		}
		if code != exitNoWord {
			t.Errorf("after %v: exit code %d\n%s", moment, code, p.said.String())
		}
		wantNothingLeft(t, p)
		if !strings.Contains(p.said.String(), "interrupted; ") {
			continue // before there was anything to be measured
		}
		r := p.stored()
		if r.Ending != result.Interrupted || !strings.Contains(p.said.String(), "are stored as "+r.ID) {
			t.Errorf("after %v: ending %q\n%s", moment, r.Ending, p.said.String())
		}
		if wrong := result.Inconsistencies(r); len(wrong) > 0 {
			t.Errorf("after %v: %v", moment, wrong)
		}
		for _, round := range r.Rounds {
			whole += len(round.Trials)
			for _, trial := range round.Trials {
				if trial.Messages == nil || trial.Messages.Faults() > 0 {
					t.Errorf("after %v: %+v", moment, trial.Messages)
				}
			}
		}
	}
	t.Logf("%d trials were kept", whole)
}

// A conductor that is killed takes its brokers, their hosts and links along.
func TestMessagesConductorIsKilled(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 2))
	for range 3 {
		p := beginMessages(t, messages([]string{"hermes-grpc-stream", "nats-jetstream"}, "--rate", "500", "--scenario", "crash,partition")...)
		timer := time.AfterFunc(time.Second+time.Duration(random.Int64N(int64(8*time.Second))), func() { _ = p.command.Process.Kill() })
		_ = p.within(2 * time.Minute).end()
		timer.Stop()
		wantNothingLeft(t, p)
	}
}

// A cluster that runs is used by its address, goes on after that, and is stopped by Ctrl-C.
func TestUpMessaging(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for broker, protocol := range map[string]string{"hermes": "hermes-rest", "nats": "nats-jetstream"} {
		t.Run(broker, func(t *testing.T) {
			t.Parallel()
			p := prepared(t, t.TempDir(), []string{hermesProgram(t), "TMPDIR=" + t.TempDir()}, "up", "messaging", "--broker", broker, "--nodes", "3", "--json")
			out, err := os.Create(filepath.Join(p.command.Dir, "stdout"))
			if err != nil {
				t.Fatal(err)
			}
			p.command.Stdout = out
			p.start()
			p.until("up; stop with Ctrl-C")
			text, err := os.ReadFile(out.Name())
			if err != nil {
				t.Fatal(err)
			}
			type up struct {
				Broker               string
				Addresses, Protocols []string
				Handover             result.Handover
			}
			said := decode[up](t, string(text))
			if len(said.Addresses) != 3 || !slices.Contains(said.Protocols, protocol) || said.Broker == "" {
				t.Fatalf("%+v", said)
			}
			address, environment := said.Addresses[0], []string(nil)
			if at, found := strings.CutPrefix(address, "nats://"); found {
				environment = append(environment, natsVariable+"="+address)
				_, address, _ = strings.Cut(at, "@")
			}
			q := beginWith(t, t.TempDir(), environment, messages([]string{protocol + ",target=" + address}, "--scenario", "live,crash")...)
			if code := q.end(); code != exitOK && code != exitNoWord {
				t.Errorf("exit code %d\n%s", code, q.said.String())
			}
			for _, trial := range q.stored().Rounds[0].Trials {
				if m := trial.Messages; m == nil || m.Acknowledged == 0 || m.Faults() > 0 || m.Broker != nil {
					t.Errorf("%+v", m)
				}
			}
			refused := beginWith(t, t.TempDir(), environment, messages([]string{protocol + ",target=" + address}, "--scenario", plan.LeaderKill)...)
			refused.want(exitUsage, "somebody else runs", "nothing is done to it")
			p.interrupt()
			p.want(exitOK, "stopping")
		})
	}
}

// What cannot be says so, and what is known instead.
func TestMessagesRefused(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	program, err := builtHermes()
	if err != nil {
		t.Fatal(err)
	}
	s.env[local.ProgramVariable] = program
	for name, c := range map[string]struct {
		args []string
		says []string
	}{
		"unknown scenario":      {messages([]string{"hermes-grpc"}, "--scenario", "storm"), []string{"storm", "live", "partition", "rolling-restart"}},
		"unknown broker":        {messages([]string{"pulsar"}), []string{"pulsar", "hermes-grpc", "nats-jetstream", "rabbitmq", "kafka"}},
		"no Kafka is started":   {messages([]string{"kafka"}), []string{"kafka,target="}},
		"unknown durability":    {messages([]string{"hermes-grpc"}, "--durability", "perhaps"), []string{"perhaps", "fsync", "default"}},
		"too small":             {messages([]string{"hermes-grpc"}, "--size", "8"), []string{"size is 8", "36"}},
		"one node to kill":      {messages([]string{"hermes-grpc"}, "--scenario", "leader-kill", "--nodes", "1"), []string{"nodes is 1", "2 or more"}},
		"too many nodes":        {messages([]string{"hermes-grpc"}, "--nodes", "9"), []string{"nodes is 9"}},
		"a mode below fsync":    {messages([]string{"hermes-grpc,queue=eventual"}), []string{"eventual", "durability default"}},
		"a kind of queues":      {messages([]string{"rabbitmq,queue=stream"}), []string{"stream", "quorum", "classic"}},
		"no workload":           {[]string{"compare", "grpc", "-w", "routeguide.GetFeature", "--scenario", "live"}, []string{"--scenario needs --workload messaging"}},
		"up with what is none":  {[]string{"up", "messaging", "--broker", "zeromq"}, []string{"zeromq", "hermes", "nats", "rabbitmq"}},
		"up with too many":      {[]string{"up", "messaging", "--nodes", "70"}, []string{"--nodes 70", "1 to 7"}},
		"a late null RabbitMQ":  {[]string{nullBroker, "rabbitmq", "--delay", "1ms"}, []string{"--delay and --double", "nats"}},
		"up with no durability": {[]string{"up", "messaging", "--durability", "none"}, []string{"none", "fsync", "default"}},
	} {
		o := s.run(c.args...)
		if o.code == exitOK {
			t.Errorf("%s: passed: %s", name, o.stdout)
		}
		for _, text := range c.says {
			if !strings.Contains(o.stderr, text) {
				t.Errorf("%s: lacks %q: %s", name, text, o.stderr)
			}
		}
	}
}

// Without Hermes' program the arm says where it was looked for.
func TestMessagesWithoutHermes(t *testing.T) {
	t.Parallel()
	p := beginWith(t, t.TempDir(), []string{local.ProgramVariable + "=" + filepath.Join(t.TempDir(), "hermes")}, messages([]string{"hermes-grpc"})...)
	if code := p.end(); code == exitOK || !strings.Contains(p.said.String(), local.ProgramVariable) {
		t.Errorf("exit code %d: %s", code, p.said.String())
	}
}
