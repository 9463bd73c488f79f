package main

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"wirelab"
	"wirelab/cmd/internal/desk"
	"wirelab/internal/process"
	"wirelab/lab/network"
	"wirelab/lab/network/kernel"
	"wirelab/lab/target"
)

// A comparison over a network, TCP and UDP side by side, has the network in its
// plan, its result and its report; what was stored holds when it is verified,
// and a replay is over the same one.
func TestCompareOverNetwork(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	dir := t.TempDir()
	p := begin(t, dir, "compare", "http1-json", "http3-proto", "--workload", "routeguide.GetFeature", "--seed", "11",
		"--rounds", "1", "--max-rounds", "1", "--slices", "1", "--slice", "100ms", "--network", "cloud,loss=0.2%",
		"--json")
	if code := p.end(); code != desk.ExitOK && code != desk.ExitNoWord {
		t.Fatalf("exit code %d\n%s", code, p.said.String())
	}
	p.wantNoneLeft()
	r := p.stored()
	if r.Plan.Network != "rtt=1ms,loss=0.2%,bandwidth=1Gbit" || r.Network == nil || r.Network.Spec != r.Plan.Network {
		t.Fatalf("the plan has the network %q, the result %+v", r.Plan.Network, r.Network)
	}
	if n := r.Network; n.Via != "relay" || len(n.Floors) != 2 || n.Floors[1].Transport != "UDP" ||
		!strings.Contains(strings.Join(n.Notes, " "), "loss on TCP is a model") {
		t.Errorf("the network is %+v", n)
	}
	if len(r.Placement.RelayCPUs) == 0 ||
		!slices.Equal(r.Placement.RelayCPUs, r.Placement.DriverCPUs) &&
			slices.Contains(r.Placement.DriverCPUs, r.Placement.RelayCPUs[0]) {
		t.Errorf("placement %+v", r.Placement)
	}
	for _, trial := range r.Rounds[0].Trials {
		if trial.Relay == nil || trial.Relay.CPU <= 0 || trial.Relay.Forwarded == 0 {
			t.Errorf("the relay of arm %d did %+v", trial.Arm, trial.Relay)
		}
		if p01 := trial.Service.Quantile(0.01); trial.OK > 0 && p01 < int64(time.Millisecond)*99/100 {
			t.Errorf("a call of arm %d took %d ns, less than the round trip", trial.Arm, p01)
		}
	}
	s := &shell{t, map[string]string{"WIRELAB_STORE": p.mark}}
	s.run("results", "show", "latest", "--full").wants(t, desk.ExitOK,
		[]string{"network", "rtt=1ms,loss=0.2%", "is a model", "UDP"}, nil)
	file := filepath.Join(dir, "result.json")
	if err := os.WriteFile(file, p.stdout.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	s.run("verify", "latest", file).wants(t, desk.ExitOK, []string{": holds"}, nil)
	edited := strings.Replace(p.stdout.String(), `"via": "relay"`, `"via": "netem"`, 1)
	s.runWith(t.Context(), edited, "verify", "-").wants(t, 1, []string{"digest"}, nil)
	if here := replays(t, dir, r); here.Plan.Network != r.Plan.Network || here.Network == nil ||
		here.Network.Spec != r.Network.Spec {
		t.Errorf("the replay's network is %+v", here.Network)
	}
}

// A network that is none is a usage error of every command that takes one, and
// nothing is run; a plan's is too.
func TestWrongNetwork(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	for spec, says := range map[string]string{
		"moon":                  `unknown network "moon"; known: cloud, lan, mobile, wan`,
		"rtt=40":                "write a time with a unit",
		"rtt=4ms,rtt=5ms":       "sets rtt twice",
		"delay=1ms":             "known: bandwidth, jitter, loss, rtt, via",
		"loss=90%":              "it must be 0% to 50%",
		"rtt=1ms,jitter=2ms":    "jitter is 2ms",
		"rtt=1ms,via=telegraph": "known: netem, relay",
	} {
		s.run("compare", "grpc", "http1-json", "-w", "routeguide.GetFeature", "--network", spec).wants(t,
			desk.ExitUsage, nil, []string{says})
		s.run("run", "quick", "--network", spec).wants(t, desk.ExitUsage, nil, []string{says})
		if o := s.run("explain", "routeguide.GetFeature", "--network", spec); o.code != desk.ExitUsage ||
			!strings.Contains(o.stderr, says) {
			t.Errorf("explain: exit code %d: %s", o.code, o.stderr)
		}
		s.run("relay", "--network", spec, "--to", "127.0.0.1:1").wants(t, desk.ExitUsage, nil, []string{says})
	}
	s.run("compare", "grpc", "-w", "routeguide.GetFeature", "--network", "wan", "--slice", "50ms").
		wants(t, desk.ExitUsage, nil, []string{"slice is 50ms; it must be at least 80ms on a network"})
	s.run("compare", "grpc,target=127.0.0.1:9", "-w", "routeguide.GetFeature", "--network", "lan,via=netem").
		wants(t, desk.ExitUsage, nil, []string{"target cannot be put into one"})
	s.run("compare", "grpc-tls,target=10.0.0.7:443", "-w", "routeguide.GetFeature", "--network", "lan").
		wants(t, desk.ExitUsage, nil, []string{"its certificate does not name"})
	s.run("relay", "--network", "lan,via=netem", "--to", "127.0.0.1:1").wants(t, desk.ExitUsage, nil,
		[]string{"leave via out"})
	s.run("relay", "--network", "lan", "--to", "nowhere").wants(t, desk.ExitUsage, nil, []string{"want HOST:PORT"})
	s.run("relay", "--network", "lan").wants(t, desk.ExitUsage, nil, []string{"to"})
	file := filepath.Join(t.TempDir(), "plan.yaml")
	if err := os.WriteFile(file,
		[]byte("workload: routeguide\noperation: GetFeature\narms: [{protocol: grpc}]\nnetwork: rtt=forty\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	s.run("run", file).wants(t, desk.ExitUsage, nil, []string{"rtt is \"forty\""})
	s.run("run", file, "--network", "lan", "--print-plan").wants(t, desk.ExitOK, []string{`"network": "rtt=500us"`},
		nil)
}

// By netem: where the kernel has it a comparison runs; where not, it is refused
// with what to do instead. Nothing is left either way.
func TestCompareViaNetem(t *testing.T) {
	t.Parallel()
	p := begin(t, t.TempDir(), brief(1, "--network", "lan,via=netem")...)
	code := p.end()
	p.wantNoneLeft()
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range all {
		if addresses, _ := i.Addrs(); len(addresses) > 0 && strings.HasPrefix(addresses[0].String(), "198.18.") &&
			strings.HasPrefix(i.Name, "wl") && code != desk.ExitFailed {
			t.Errorf("%s is left", i.Name)
		}
	}
	path, err := kernel.Make(t.Context(), network.Spec{RTT: time.Millisecond, Via: network.Netem})
	if err == nil {
		path.Remove()
		if code != desk.ExitOK && code != desk.ExitNoWord {
			t.Errorf("exit code %d: %s", code, p.said.String())
		}
		return
	}
	if code != desk.ExitFailed ||
		!strings.Contains(p.said.String(), "leave via=netem out: the relay works everywhere") {
		t.Errorf("exit code %d: %s", code, p.said.String())
	}
	if c := wirelab.CodeOf(err); c != wirelab.Unimplemented && c != wirelab.PermissionDenied {
		t.Errorf("the refusal is %v", err)
	}
}

// A relay of one's own: it says what it does, passes calls on, and tells at the
// end what it did.
func TestRelayCommand(t *testing.T) {
	t.Parallel()
	address, _ := serve(t, "routeguide", "grpc")
	p := begin(t, t.TempDir(), "relay", "--network", "rtt=2ms,loss=0.1%", "--to", address, "--seed", "3")
	p.until("relaying TCP from ")
	at := strings.Fields(strings.SplitAfter(p.said.String(), "relaying TCP from ")[1])[0]
	newShell(t).run("call", "routeguide.GetFeature", "--protocol", "grpc", "--target", at, "--timeout", "30s").wants(t,
		desk.ExitOK, []string{`"name"`}, nil)
	_ = p.command.Process.Signal(os.Interrupt)
	p.want(desk.ExitOK, "on a network of rtt=2ms,loss=0.1%, seed 3", "model: loss on TCP is a model", "1 connections, ")
}

// A server that is started in a path's namespace, as experiments do, answers
// calls from outside of it, and runs on the cores that it is given.
func TestServerInNamespace(t *testing.T) {
	t.Parallel()
	path, err := kernel.Connect(t.Context())
	if err != nil {
		if !strings.Contains(err.Error(), "leave via=netem out") {
			t.Errorf("the refusal %v does not say what to do", err)
		}
		t.Skip(err)
	}
	defer path.Remove()
	server, err := target.Start(t.Context(), process.Command{
		Name: "server", Path: os.Args[0], Env: []string{asProgram + "=1"}, CPUs: []int{0}, Namespace: path.Namespace(),
		Args: []string{"serve", "routeguide", "grpc-tls", "--addr", path.Host + ":0", "--controlled"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	}()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, []byte(server.Ready().Authority), 0o600); err != nil {
		t.Fatal(err)
	}
	newShell(t).run("call", "routeguide.GetFeature", "--protocol", "grpc-tls", "--ca", ca, "--target",
		server.Ready().Address, "--timeout", "30s").
		wants(t, desk.ExitOK, []string{`"name"`}, nil)
	// This process is still where it was: what it serves is reached from here.
	address, _ := serve(t, "routeguide", "grpc")
	newShell(t).run("call", "routeguide.GetFeature", "--protocol", "grpc", "--target", address, "--timeout",
		"30s").wants(t, desk.ExitOK, []string{`"name"`}, nil)
}
