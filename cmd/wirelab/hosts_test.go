package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"wirelab/cmd/internal/desk"
)

// A load that is divided among two drivers, before a server on a third host, gives one result, which holds when it is
// verified; a host that dies fails its arms by name.
func TestCompareOverHosts(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	dir := t.TempDir()
	key := filepath.Join(dir, "lab.key")
	bus := beginWith(t, dir, []string{natsProgram(t)}, "hosts", "--listen", "127.0.0.1:0", "--key", key)
	bus.until("hosts join at")
	url := regexp.MustCompile(`nats://[0-9.:]+`).FindString(bus.said.String())
	if info, err := os.Stat(key); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the key: %v, %v", info, err)
	}
	var hosts []*program
	for name, role := range map[string]string{"s1": "server", "d1": "driver", "d2": "driver"} {
		h := begin(t, t.TempDir(), "host", "--join", url, "--key", key, "--name", name, "--role", role)
		h.until("host " + name + " joined")
		hosts = append(hosts, h)
	}
	p := begin(t, t.TempDir(), "compare", "grpc", "http1-json", "--workload", "routeguide.GetFeature",
		"--seed", "7", "--rate", "50", "--rounds", "1", "--max-rounds", "1", "--slices", "1", "--slice", "2s", "--json",
		"--hosts", url, "--hosts-key", key)
	if code := p.end(); code != desk.ExitOK && code != desk.ExitNoWord {
		t.Fatalf("exit code %d\n%s", code, p.said.String())
	}
	r := p.stored()
	if len(r.Hosts) != 3 || len(r.Rounds) != 1 || !r.Plan.Hosts.Joined {
		t.Fatalf("hosts %+v in %d rounds", r.Hosts, len(r.Rounds))
	}
	for _, trial := range r.Rounds[0].Trials {
		d := trial.Drivers
		if len(d) != 2 || d[0].OK+d[1].OK != trial.OK || d[0].Planned == 0 || d[1].Planned == 0 {
			t.Errorf("drivers %+v of %d calls", d, trial.OK)
		}
	}
	if trials := r.Rounds[0].Trials; len(trials) == 2 && trials[0].Planned != trials[1].Planned {
		t.Errorf("the arms had %d and %d calls due", trials[0].Planned, trials[1].Planned)
	}
	text := p.stdout.String()
	edited := strings.Replace(text, `"host": "d1"`, `"host": "d9"`, 1)
	if edited == text {
		t.Error("the result does not name its drivers")
	}
	for _, p := range append(hosts, bus) {
		p.interrupt()
		if code := p.end(); code != desk.ExitOK {
			t.Errorf("exit code %d\n%s", code, p.said.String())
		}
		p.wantNoneLeft()
	}
}
