package main

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"wirelab/broker/kinds"
	"wirelab/cmd/internal/desk"
	"wirelab/hermes/local"
	"wirelab/internal/prereq"
	"wirelab/lab/experiment"
	"wirelab/lab/plan"
	"wirelab/lab/prepare"
	"wirelab/lab/result"
	"wirelab/lab/result/consistency"
	"wirelab/results/store"
	"wirelab/results/store/sqlite"
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
// A segment's name is that of the first free network from its maker's process on: other
// tests have segments at the same time.
func wantNothingLeft(t *testing.T, p *program) {
	t.Helper()
	p.wantNoneLeft()
	var names []string
	for n := range 4 {
		n = (p.command.Process.Pid + n) % (1 << 9)
		names = append(names, fmt.Sprintf("wls%d-%d", 18+n>>8, n&0xff))
	}
	eventually(t, "no link is left", func() bool {
		all, err := net.Interfaces()
		return err == nil && !slices.ContainsFunc(all,
			func(i net.Interface) bool { return slices.Contains(names, i.Name) })
	})
}

// Two brokers are compared from end to end: each a cluster that is started for the round,
// a floor for each, every message accounted for, and what was promised in the arm's row.
func TestCompareMessages(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	// At a rate: what a saturated cluster does is not asked for here.
	p := beginMessages(t, messages([]string{"hermes-all", "nats-jetstream,durability=default"}, "--rate", "200",
		"--scenario", "live,fanout", "--full")...)
	if code := p.end(); code != desk.ExitOK && code != desk.ExitNoWord {
		t.Fatalf("exit code %d\n%s", code, p.said.String())
	}
	wantNothingLeft(t, p)
	for _, text := range []string{
		"all scenarios", "nats-jetstream,durability=default°",
		"acknowledges before a message is on disk", "What became of the messages", "3 nodes",
	} {
		if !strings.Contains(p.stdout.String(), text) {
			t.Errorf("the report lacks %q:\n%s", text, p.stdout.String())
		}
	}
	r := p.stored()
	if len(r.Rounds) != 1 || len(r.Rounds[0].Trials) != 4 {
		t.Fatalf("%d rounds: %+v", len(r.Rounds), r.Rounds)
	}
	for _, trial := range r.Rounds[0].Trials {
		m := trial.Messages
		groups := uint64(r.Plan.Loads[trial.Load].Groups)
		switch {
		case m == nil || m.Whole() != nil || m.Faults() > 0 || m.Acknowledged == 0 ||
			m.Expected != m.Acknowledged*groups:
			t.Errorf("messages %+v", m)
		case m.Broker == nil || m.Broker.Memory == 0 || m.Broker.Network == 0 || trial.Server.CPU == 0 ||
			trial.Driver.CPU == 0 || len(trial.Parts) != 3:
			t.Errorf("costs %+v, %+v", m.Broker, trial.Parts)
		case trial.Floor == nil || trial.Floor.Completed == 0:
			t.Errorf("no floor: %+v", trial.Floor)
		}
	}
	if wrong := consistency.Flaws(r); len(wrong) > 0 {
		t.Error(wrong)
	}
}

// does tells whether a running experiment is in a phase, of a load if one is named.
func does(phase experiment.Phase, load string) func(store.Running) bool {
	return func(r store.Running) bool { return r.Phase == string(phase) && strings.Contains(r.Load, load) }
}

// reaches waits until an experiment that was begun does what is wanted, and then for a
// moment that nobody chose.
func (p *program) reaches(wanted func(store.Running) bool, within time.Duration) {
	p.t.Helper()
	results, err := sqlite.Open(p.t.Context(), p.mark)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = results.Close() }()
	p.telling(results, wanted)
	time.Sleep(rand.N(within)) // nothing depends on it
}

// Ctrl-C in a slice in which the broker fails keeps what was measured, tells it, and leaves
// nothing behind. Slices are so long that none is over by then.
func TestMessagesAreInterrupted(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	p := beginMessages(t, messages([]string{"nats-jetstream", "hermes-grpc"}, "--rate", "200", "--scenario",
		"leader-kill", "--slice", "8s")...)
	p.within(10*time.Minute).reaches(does(experiment.Measuring, "leader-kill"), 5*time.Second) // it is at half
	p.interrupt()
	p.want(desk.ExitNoWord)
	wantNothingLeft(t, p)
	if !strings.Contains(p.said.String(), "interrupted; ") {
		return // before there was anything to be measured
	}
	r := p.stored()
	if r.Ending != result.Interrupted || !strings.Contains(p.said.String(), "stored as "+r.ID) {
		t.Errorf("ending %q\n%s", r.Ending, p.said.String())
	}
	if wrong := consistency.Flaws(r); len(wrong) > 0 {
		t.Error(wrong)
	}
	for _, round := range r.Rounds {
		for _, trial := range round.Trials {
			if trial.Messages == nil || trial.Messages.Faults() > 0 {
				t.Errorf("%+v", trial.Messages)
			}
		}
	}
}

// When a runner is killed, its brokers, their hosts and links are gone too.
func TestMessagesRunnerIsKilled(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	prereq.NeedNamespaces(t) // for scenario partition
	p := beginMessages(t, messages([]string{"hermes-grpc-stream"}, "--rate", "200", "--scenario", "partition",
		"--slice", "8s")...)
	p.within(10*time.Minute).reaches(does(experiment.Measuring, "partition"), 2*time.Second)
	if err := p.command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.end()
	wantNothingLeft(t, p)
}

// upMessaging begins a cluster of three nodes, and returns the file of its standard output.
func upMessaging(t *testing.T, broker string) (p *program, stdout string) {
	t.Helper()
	p = prepared(t, t.TempDir(), []string{hermesProgram(t), natsProgram(t), "TMPDIR=" + t.TempDir()},
		"up", "messaging", "--broker", broker, "--nodes", "3", "--json")
	out, err := os.Create(filepath.Join(p.command.Dir, "stdout"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close() // the child has its own by then
	p.command.Stdout = out
	p.start()
	return p, out.Name()
}

// A cluster that comes up leaves nothing behind, whether Ctrl-C ends it or it is killed.
func TestUpMessagingEndsEarly(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for broker, end := range map[string]syscall.Signal{"hermes": syscall.SIGINT, "nats": syscall.SIGKILL} {
		t.Run(broker+" "+end.String(), func(t *testing.T) {
			t.Parallel()
			p, _ := upMessaging(t, broker)
			p.eventually("a second node", func() bool { return len(p.processes("")) > 2 })
			if err := p.command.Process.Signal(end); err != nil {
				t.Fatal(err)
			}
			// It may have been up just then.
			if code := p.end(); end == syscall.SIGINT && code != desk.ExitNoWord && code != desk.ExitOK {
				t.Errorf("exit code %d:\n%s", code, p.said.String())
			}
			wantNothingLeft(t, p)
		})
	}
}

// Clusters that run are used by their addresses, in one comparison, go on after that, and
// are stopped by Ctrl-C. What would have to be done to their nodes is refused.
func TestUpMessaging(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	s := newShell(t)
	s.set(hermesProgram(t))
	s.set(natsProgram(t))
	var ups []*program
	var arms, environment []string
	for broker, protocol := range map[string]string{"hermes": "hermes-rest", "nats": "nats-jetstream"} {
		p, stdout := upMessaging(t, broker)
		p.until("up; stop with Ctrl-C")
		text, err := os.ReadFile(stdout)
		if err != nil {
			t.Fatal(err)
		}
		type up struct {
			Broker               string
			Addresses, Protocols []string
			Guarantee            result.Guarantee `json:"handover"`
		}
		said := decode[up](t, string(text))
		if len(said.Addresses) != 3 || !slices.Contains(said.Protocols, protocol) || said.Broker == "" {
			t.Fatalf("%+v", said)
		}
		address := said.Addresses[0]
		if at, found := strings.CutPrefix(address, "nats://"); found {
			environment = append(environment, kinds.NATSVariable+"="+address)
			s.set(environment[0])
			_, address, _ = strings.Cut(at, "@")
		}
		arm := protocol + ",target=" + address
		s.run(messages([]string{arm}, "--scenario", plan.LeaderKill)...).wants(t, desk.ExitUsage, nil,
			[]string{"wirelab did not start", "wirelab injects no faults into it"})
		ups, arms = append(ups, p), append(arms, arm)
	}
	q := beginWith(t, t.TempDir(), environment, messages(arms, "--rate", "200", "--scenario", "crash")...)
	q.ended(desk.ExitOK, desk.ExitNoWord)
	trials := q.stored().Rounds[0].Trials
	for _, trial := range trials {
		if m := trial.Messages; m == nil || m.Acknowledged == 0 || m.Faults() > 0 || m.Broker != nil {
			t.Errorf("%+v", m)
		}
	}
	if len(trials) != len(arms) {
		t.Errorf("%d trials of %d arms: %+v", len(trials), len(arms), q.stored().Rounds[0].Failures)
	}
	for _, p := range ups {
		p.interrupt()
		p.want(desk.ExitOK, "stopping")
	}
}

// An impossible setting is an error that names the possible ones.
func TestMessagesRefused(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.set(hermesProgram(t))
	for name, c := range map[string]struct {
		args []string
		says []string
	}{
		"unknown scenario": {
			messages([]string{"hermes-grpc"}, "--scenario", "storm"),
			[]string{"storm", "live", "partition", "rolling-restart"},
		},
		"unknown broker": {
			messages([]string{"pulsar"}),
			[]string{"pulsar", "hermes-grpc", "nats-jetstream", "rabbitmq", "kafka"},
		},
		"no Kafka is started": {messages([]string{"kafka"}), []string{"kafka,target="}},
		"unknown durability": {
			messages([]string{"hermes-grpc"}, "--durability", "perhaps"),
			[]string{"perhaps", "fsync", "default"},
		},
		"too small": {messages([]string{"hermes-grpc"}, "--size", "8"), []string{"size is 8", "36"}},
		"one node to kill": {
			messages([]string{"hermes-grpc"}, "--scenario", "leader-kill", "--nodes", "1"),
			[]string{"nodes is 1", "2 or more"},
		},
		"too many nodes": {messages([]string{"hermes-grpc"}, "--nodes", "9"), []string{"nodes is 9"}},
		"a mode below fsync": {
			messages([]string{"hermes-grpc,queue=eventual"}),
			[]string{"eventual", "durability default"},
		},
		"a kind of queues": {messages([]string{"rabbitmq,queue=stream"}), []string{"stream", "quorum", "classic"}},
		"no workload": {
			[]string{"compare", "grpc", "-w", "routeguide.GetFeature", "--scenario", "live"},
			[]string{"--scenario needs --workload messaging"},
		},
		"up with an unknown broker": {
			[]string{"up", "messaging", "--broker", "zeromq"},
			[]string{"zeromq", "hermes", "nats", "rabbitmq"},
		},
		"up with too many": {[]string{"up", "messaging", "--nodes", "70"}, []string{"--nodes 70", "1 to 7"}},
		"a late null RabbitMQ": {
			[]string{prepare.NullBroker, "rabbitmq", "--delay", "1ms"},
			[]string{"--delay and --double", "nats"},
		},
		"up with no durability": {
			[]string{"up", "messaging", "--durability", "none"},
			[]string{"none", "fsync", "default"},
		},
	} {
		o := s.run(c.args...)
		if o.code == desk.ExitOK {
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
	s := newShell(t)
	s.set(local.ProgramVariable + "=" + filepath.Join(t.TempDir(), "hermes"))
	o := s.run(messages([]string{"hermes-grpc"}, "--certificate", "none")...)
	if o.code == desk.ExitOK || !strings.Contains(o.stderr, local.ProgramVariable) {
		t.Errorf("exit code %d: %s", o.code, o.stderr)
	}
}
