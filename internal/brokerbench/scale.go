package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"wirelab/lab/probe"
)

// scale is how large the shapes are that are about size: a test's are small.
type scale struct {
	backlog int           // messages
	pace    int           // messages a second that are published while the backlog is read
	topics  int           // of topics-10000
	slow    time.Duration // that each sync of the slow disk takes longer
}

// figure is one of several that a shape measures.
type figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit,omitempty"` // s, B, /s or none
}

func (f figure) String() string {
	switch f.Unit {
	case "s":
		if f.Value < 1e-4 {
			return fmt.Sprintf("%s %.2fµs", f.Name, f.Value*1e6)
		}
		return f.Name + " " + brief(f.Value)
	case "B":
		return fmt.Sprintf("%s %.0f MiB", f.Name, f.Value/(1<<20))
	case "/s":
		return fmt.Sprintf("%s %.0f/s", f.Name, f.Value)
	}
	return fmt.Sprintf("%s %.3g", f.Name, f.Value)
}

// replayer is a topic that gives all that was ever published, and then goes on.
type replayer interface {
	// Replay is Deliver from the topic's first message on.
	Replay(ctx context.Context, got func(payload []byte)) (stop func(), err error)
}

// usage is what the processes of a rival had used when it was looked at.
type usage struct {
	at  time.Time
	cpu time.Duration
	ids []int
}

// look begins to account for a rival: the most memory that each process holds is
// counted from now on.
func look(r rival) (usage, error) {
	u := usage{at: time.Now()}
	u.ids = r.PIDs()
	for _, id := range u.ids {
		used, err := probe.CPU(id)
		if err != nil {
			return u, err
		}
		u.cpu += used
		// "5" is to forget the most that was resident; see proc(5).
		if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", id), []byte("5"), 0); err != nil {
			return u, err
		}
	}
	return u, nil
}

// since tells what the rival used since, for so many messages: CPU of all processes for
// each, and the most memory that one of them held, and all together. prefix says when.
func (u usage) since(prefix string, messages int64) ([]figure, error) {
	var cpu time.Duration
	var most, all float64
	for _, id := range u.ids {
		used, err := probe.CPU(id)
		if err != nil {
			return nil, err
		}
		cpu += used
		held, err := peak(id)
		if err != nil {
			return nil, err
		}
		most, all = max(most, held), all+held
	}
	if len(u.ids) == 0 || messages == 0 {
		return nil, nil
	}
	return []figure{
		{prefix + ": CPU a message, all nodes", (cpu - u.cpu).Seconds() / float64(messages), "s"},
		{prefix + ": most memory of a node", most, "B"},
		{prefix + ": most memory, sum of all nodes", all, "B"},
	}, nil
}

// peak is the most memory that a process held since it began, or since look.
func peak(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 64)
			return kib * 1024, err
		}
	}
	return 0, fmt.Errorf("the kernel does not say how much memory process %d held", pid)
}

// tableFigures prints the medians of a shape's figures.
func (b *bench) tableFigures(w io.Writer, s shape) {
	fmt.Fprintf(w, "%s, %d B, median of %d rounds\t\t\tleast to most\t\t\t\n", s.name, s.size, b.rounds)
	for _, r := range b.rivals {
		all := b.found[s.name][r.Name()]
		if len(all) == 0 {
			continue
		}
		for i, f := range all[0].Figures {
			var values []float64
			for _, one := range all {
				values = append(values, one.Figures[i].Value)
			}
			of := func(v float64) string {
				return strings.TrimPrefix(figure{Value: v, Unit: f.Unit}.String(), " ")
			}
			fmt.Fprintf(w, "  %s\t%s\t%s\t%s to %s\t\t\t\n", r.Name(), f.Name, of(median(values)), of(slices.Min(values)), of(slices.Max(values)))
		}
		for _, one := range all {
			if one.Failed+int64(one.Missing+one.Doubled) > 0 {
				fmt.Fprintf(w, "  %s\t%d failed, %d missing, %d doubled\t\t\t\t\t\n", r.Name(), one.Failed, one.Missing, one.Doubled)
			}
		}
	}
	fmt.Fprintln(w, "\t\t\t\t\t\t")
}
