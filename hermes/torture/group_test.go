package torture

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"wirelab/hermes/broker"
	"wirelab/hermes/local"
)

// member is a process that is a member of a group and writes what it gets into a file.
type member struct {
	command *exec.Cmd
	name    string
}

func join(t *testing.T, dir, name string, servers []string, group string, more ...string) *member {
	t.Helper()
	m := &member{name: filepath.Join(dir, name)}
	out, err := os.Create(m.name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = out.Close() }() // the child has its own
	args := append([]string{"sub", "shared", "--group", group, "--json"}, more...)
	for _, at := range servers {
		args = append(args, "--server", at)
	}
	m.command = exec.Command(program, args...)
	m.command.Stdout, m.command.Stderr = out, os.Stderr
	m.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if err := m.command.Start(); err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *member) kill() {
	_ = m.command.Process.Kill()
	_ = m.command.Wait() // killed is how it ends
}

// handled is what a member wrote, by offset. Its last line may be torn.
func (m *member) handled(t *testing.T, all map[uint64]int) {
	t.Helper()
	text, err := os.ReadFile(m.name)
	if err != nil {
		t.Fatal(err)
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line struct{ Offset uint64 }
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatalf("%.100q: %v", lines.Text(), err)
		}
		all[line.Offset]++
	}
}

// Members of a group are killed under load, one of each round with all in flight that it was ever given, and so
// is a leader, who keeps what they have in hand. Every message is handled at least once, by a member that
// acknowledges. (hb-D01, hb-M18)
func TestMembersKilled(t *testing.T) {
	long(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute+time.Duration(*rounds)*time.Minute)
	defer cancel()
	cluster, c := begin(ctx, t, local.Options{})
	topic(ctx, t, c, "shared")
	if _, err := c.CreateGroup(ctx, broker.Group{Topic: "shared", Name: "g", AckTimeout: int64(time.Second)},
		broker.Start{From: broker.FromOldest}); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var present, all []*member
	enter := func() {
		m := join(t, dir, "member-"+strconv.Itoa(len(all)), cluster.GRPC(), "g")
		present, all = append(present, m), append(all, m)
	}
	t.Cleanup(func() {
		for _, m := range present {
			m.kill()
		}
	})
	for range 3 {
		enter()
	}
	a := newAccount()
	loading, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.publish(loading, t, c, "shared", *rate/2)
	}()
	away := found.does(t, "leader of a group killed, and its members", *rounds)
	pause(ctx, 500*time.Millisecond)
	held := map[uint64]int{}
	for round := 0; more(round, 4**rounds); round++ {
		holds := join(t, dir, "holds-"+strconv.Itoa(round), cluster.GRPC(), "g", "--no-ack")
		present[0].kill()
		present = present[1:]
		enter()
		if round%4 == 2 {
			n := cluster.Nodes[leader(ctx, t, c)-1]
			at := time.Now()
			n.Kill()
			away.cost(t, untilBack(ctx, t, a, at))
			if err := n.Start(ctx); err != nil {
				t.Fatal(err)
			}
		}
		pause(ctx, 500*time.Millisecond)
		holds.kill()
		holds.handled(t, held)
	}
	if len(held) == 0 {
		t.Error("no member had anything in its hands when it was killed")
	}
	stop()
	<-done
	for {
		g, err := c.Group(ctx, "shared", "g")
		if err == nil && g.Lag == 0 {
			break
		}
		if ctx.Err() != nil {
			t.Fatalf("the group does not come to its end: %+v, %v", g, err)
		}
		pause(ctx, 50*time.Millisecond)
	}
	times := map[uint64]int{}
	for _, m := range all {
		m.handled(t, times)
	}
	missing, again, handled := 0, 0, 0
	for _, r := range a.acked {
		if times[r.Offset] == 0 {
			missing++
		} else {
			handled++
		}
		again += max(0, times[r.Offset]-1)
	}
	t.Logf("%d members, %d messages acknowledged, never handled %d, handled again %d", len(all), len(a.acked), missing,
		again)
	if missing > 0 {
		t.Error("messages were acknowledged for the group that did not handle them")
	}
	a.grouped = count{Delivered: handled, Undelivered: missing, Again: again}
	a.settle(ctx, t, c, "shared")
}
