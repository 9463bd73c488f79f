package backup_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"wirelab/hermes"
	"wirelab/hermes/backup"
	"wirelab/hermes/broker"
	"wirelab/hermes/broker/brokertest"
	"wirelab/wire/status"
)

func memory(t *testing.T) *brokertest.InMemory {
	t.Helper()
	m := brokertest.Memory()
	t.Cleanup(m.Close)
	return m
}

func noProgress(backup.Totals) {}

// filled is a broker with topics a, b and c, a group on a, and a dead letter of b.
func filled(t *testing.T) *brokertest.InMemory {
	t.Helper()
	m, ctx := memory(t), t.Context()
	for _, topic := range []broker.Topic{
		{Name: "a", First: 7, RetentionBytes: 1 << 40},
		{Name: "b", RetentionAge: int64(time.Hour)},
		{Name: "c"},
	} {
		if _, err := m.CreateTopic(ctx, topic); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 30 {
		for _, topic := range []string{"a", "b", hermes.DeadLetters} {
			v := brokertest.Publish(ctx, m, broker.Run{Topic: topic, Messages: brokertest.Messages(fmt.Sprint(topic, i),
				strings.Repeat("x", 60<<10)), Count: 2})
			if v.Err != nil {
				t.Fatal(v.Err)
			}
		}
	}
	f, err := m.Subscribe(ctx, broker.Start{Topic: "a", From: broker.FromGroup, Group: "g"})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Next(ctx, broker.Room{Bytes: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	if err := f.Ack(ctx, []broker.Range{{First: 8, Last: 8}}); err != nil {
		t.Fatal(err)
	}
	return m
}

func save(t *testing.T, a broker.Archive, only ...string) []byte {
	t.Helper()
	var file bytes.Buffer
	if _, err := backup.Save(t.Context(), a, only, &file, noProgress); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func contents(t *testing.T, file []byte) backup.Contents {
	t.Helper()
	c, err := backup.Verify(t.Context(), bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// restore restores a file, as a caller does.
func restore(t *testing.T, a broker.Archive, file []byte, only ...string) error {
	t.Helper()
	c := contents(t, file)
	plan, err := backup.Plan(t.Context(), a, c, only)
	if err != nil {
		return err
	}
	return backup.Restore(t.Context(), a, c, plan, bytes.NewReader(file), noProgress)
}

// items are what a file holds, but for the ids that each log gives itself.
func items(t *testing.T, file []byte) string {
	t.Helper()
	var all strings.Builder
	if _, err := backup.Read(bytes.NewReader(file), func(item backup.Item) error {
		switch {
		case item.Topic != nil:
			fmt.Fprintf(&all, "topic %+v\n", *item.Topic)
		case item.Group != nil:
			fmt.Fprintf(&all, "group %+v\n", *item.Group)
		default:
			fmt.Fprintf(&all, "run %d %d %d %x\n", item.Run.Offset, item.Run.Count, item.Run.Time,
				sha256.Sum256(item.Run.Messages))
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// A backup that is restored into an empty broker makes the same backup there.
func TestSaveAndRestore(t *testing.T) {
	t.Parallel()
	file := save(t, filled(t))
	if c := contents(t, file); c.Topics != 4 || c.Groups != 1 || c.Messages != 180 || len(c.All) != 4 ||
		c.All[0].Messages != 60 || c.ID == 0 {
		t.Errorf("%+v", c)
	}
	m := memory(t)
	if err := restore(t, m, file); err != nil {
		t.Fatal(err)
	}
	if got, want := items(t, save(t, m)), items(t, file); got != want {
		t.Errorf("restored it is\n%.2000s\nand was\n%.2000s", got, want)
	}
	// Again nothing is to do, and nothing is done.
	plan, err := backup.Plan(t.Context(), m, contents(t, file), nil)
	if err != nil || slices.ContainsFunc(plan, func(p backup.Planned) bool { return p.State != broker.RestoreDone }) {
		t.Errorf("%+v: %v", plan, err)
	}
	if err := restore(t, m, file); err != nil {
		t.Error(err)
	}
}

// Topics that are there are named, and nothing is written; those that are asked for are brought back alone.
func TestRestoreOnly(t *testing.T) {
	t.Parallel()
	file := save(t, filled(t))
	m := memory(t)
	if _, err := m.CreateTopic(t.Context(), broker.Topic{Name: "b"}); err != nil {
		t.Fatal(err)
	}
	err := restore(t, m, file)
	if status.CodeOf(err) != status.Conflict || !strings.Contains(err.Error(), "has b:") {
		t.Errorf("with a topic that is there: %v", err)
	}
	if topics, _ := m.ListTopics(t.Context(), "", "", 10); len(topics) != 2 {
		t.Errorf("there are %+v", topics)
	}
	if err := restore(t, m, file, "a", "none"); status.CodeOf(err) != status.NotFound ||
		!strings.Contains(err.Error(), "none") {
		t.Errorf("a topic that the file has not: %v", err)
	}
	if err := restore(t, m, file, "a", "c"); err != nil {
		t.Fatal(err)
	}
	if got, want := items(t, save(t, m, "a", "c")), items(t, save(t, filledFrom(t, file), "a", "c")); got != want {
		t.Errorf("%.2000s\n%.2000s", got, want)
	}
}

func filledFrom(t *testing.T, file []byte) *brokertest.InMemory {
	t.Helper()
	m := memory(t)
	if err := restore(t, m, file); err != nil {
		t.Fatal(err)
	}
	return m
}

var errCut = errors.New("the connection is gone")

// failing is a broker that fails after so many steps; with done the step was done all the same.
type failing struct {
	broker.Archive
	left *int
	done bool
}

func (f failing) Restore(ctx context.Context, step broker.Restore) (broker.Restored, error) {
	if step.Step == broker.StepLook {
		return f.Archive.Restore(ctx, step)
	}
	if *f.left--; *f.left >= 0 {
		return f.Archive.Restore(ctx, step)
	}
	if f.done {
		_, _ = f.Archive.Restore(ctx, step)
	}
	return broker.Restored{}, errCut
}

// Interrupted at any step, whether that was done or not, a restore that is run again completes.
func TestRestoreInterrupted(t *testing.T) {
	t.Parallel()
	file := save(t, filled(t))
	want := items(t, file)
	for _, done := range []bool{false, true} {
		finished := false
		for steps := 0; !finished; steps++ {
			m := memory(t)
			left := steps
			err := restore(t, failing{m, &left, done}, file)
			if finished = err == nil; !finished && !errors.Is(err, errCut) {
				t.Fatalf("after %d steps: %v", steps, err)
			}
			if err := restore(t, m, file); err != nil {
				t.Fatalf("again after %d steps: %v", steps, err)
			}
			if got := items(t, save(t, m)); got != want {
				t.Fatalf("after %d steps it is\n%.2000s\nand was\n%.2000s", steps, got, want)
			}
		}
	}
}

// A restore that was begun from one file does not go on from another.
func TestRestoreOtherFile(t *testing.T) {
	t.Parallel()
	from := filled(t)
	file := save(t, from)
	m := memory(t)
	left := 2
	if err := restore(t, failing{m, &left, false}, file); !errors.Is(err, errCut) || !strings.Contains(err.Error(),
		"half restored") {
		t.Fatal(err)
	}
	if err := restore(t, m, save(t, from)); status.CodeOf(err) != status.Conflict {
		t.Errorf("from another file: %v", err)
	}
	if _, err := backup.Save(t.Context(), m, nil, io.Discard, noProgress); status.CodeOf(err) != status.Conflict {
		t.Errorf("a backup of a half restored topic: %v", err)
	}
}

// A writer that fails, and a caller that gives up, end a backup with their error.
func TestSaveFails(t *testing.T) {
	t.Parallel()
	m := filled(t)
	if _, err := backup.Save(t.Context(), m, nil, full{}, noProgress); !errors.Is(err, errCut) {
		t.Errorf("a writer that fails: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := backup.Save(ctx, m, nil, io.Discard,
		func(backup.Totals) { cancel() }); status.CodeOf(err) != status.Canceled {
		t.Errorf("given up: %v", err)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errCut }
