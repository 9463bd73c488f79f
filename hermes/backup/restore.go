package backup

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/wire/status"
)

// Contents is what a file has, known once it was read whole.
type Contents struct {
	Totals
	// ID is the restore that a caller that restores this file does: a sum of its bytes, so that a restore that was
	// interrupted is known again, and one from another file is not taken for it.
	ID  uint64
	All []Held
}

// Held is a topic in a file.
type Held struct {
	broker.Topic
	Groups   int
	Messages uint64
	Size     uint64 // bytes of messages
}

// Verify reads a file whole, and so proves that it is one: see Read for the errors.
func Verify(ctx context.Context, r io.Reader) (Contents, error) {
	var c Contents
	sum := sha256.New()
	names := map[string]bool{}
	var err error
	c.Totals, err = Read(io.TeeReader(r, sum), func(item Item) error {
		if err := ctx.Err(); err != nil {
			return status.Public(err)
		}
		if t := item.Topic; t != nil {
			if names[t.Name] {
				return status.Errorf(status.InvalidArgument, "the backup has topic %s twice", t.Name)
			}
			names[t.Name] = true
			c.All = append(c.All, Held{Topic: *t})
			return nil
		}
		now := &c.All[len(c.All)-1]
		if item.Group != nil {
			now.Groups++
			return nil
		}
		now.Messages += uint64(item.Run.Count)
		now.Size += uint64(len(item.Run.Messages))
		return nil
	})
	c.ID = max(1, binary.BigEndian.Uint64(sum.Sum(nil)))
	return c, err
}

// Planned is a topic that is to be restored.
type Planned struct {
	Held
	State broker.RestoreState
}

// Plan says what Restore would do with a file's topics, or with those of them that are named, and
// changes nothing. NotFound: one that is named is not in the file. Conflict: topics are there
// and are not from this file; the error names them. A topic of dead letters that never had one is
// not in a plan: it is everywhere.
func Plan(ctx context.Context, a broker.Archive, c Contents, only []string) ([]Planned, error) {
	for _, name := range only {
		if !slices.ContainsFunc(c.All, func(h Held) bool { return h.Name == name }) {
			return nil, status.Errorf(status.NotFound, "topic %s is not in the backup", name)
		}
	}
	var plan []Planned
	var there []string
	for _, h := range c.All {
		if len(only) > 0 && !slices.Contains(only, h.Name) ||
			h.Name == hermes.DeadLetters && h.Next == 0 && h.Groups == 0 {
			continue
		}
		now, err := a.Restore(ctx, broker.Restore{ID: c.ID, Topic: broker.Topic{Name: h.Name}})
		if err != nil {
			return nil, fmt.Errorf("topic %s: %w", h.Name, err)
		}
		if now.State == broker.RestoreOther {
			there = append(there, h.Name)
		}
		plan = append(plan, Planned{h, now.State})
	}
	if len(there) == 0 {
		return plan, nil
	}
	const most = 5
	names := strings.Join(there[:min(len(there), most)], ", ")
	if len(there) > most {
		names += fmt.Sprintf(" and %d more", len(there)-most)
	}
	return plan, status.Errorf(status.Conflict,
		"nothing was restored, for the cluster has %s: delete those that are not "+
			"wanted any more, or name the topics to restore", names)
}

// Restore brings the topics of a plan back from the file that it was made of. Those that are done already are
// passed over, and one that was begun continues. progress learns what of the file was read.
func Restore(ctx context.Context, a broker.Archive, c Contents, plan []Planned, r io.Reader,
	progress func(Totals),
) error {
	f := filler{ctx: ctx, archive: a, id: c.ID, plan: plan}
	var done Totals
	read, err := Read(r, func(item Item) error {
		switch {
		case item.Topic != nil:
			done.Topics++
			if err := f.end(); err != nil {
				return err
			}
			return f.begin(*item.Topic)
		case item.Group != nil:
			done.Groups++
			f.groups = append(f.groups, *item.Group)
			return nil
		}
		done.Messages += uint64(item.Run.Count)
		done.Bytes += uint64(len(item.Run.Messages))
		progress(done)
		return f.run(*item.Run)
	})
	if err == nil && read != c.Totals {
		err = status.Errorf(status.Conflict, "the backup was changed while it was restored")
	}
	if err == nil {
		err = f.end()
	}
	if err != nil && f.now != nil {
		return fmt.Errorf("topic %s is half restored, and closed to all until the same restore was run again (it "+
			"continues "+
			"where it was) or the topic is deleted: %w", f.now.Name, err)
	}
	return err
}

// filler fills one topic after the other.
type filler struct {
	ctx     context.Context //nolint:containedctx // of the one call that it lives for
	archive broker.Archive
	id      uint64
	plan    []Planned

	now    *broker.Topic // nil: what comes is passed over
	next   uint64        // everything before it is there
	groups []broker.Group
	runs   []broker.Batch
	bytes  int
	buffer []byte // what runs' messages are in
}

func (f *filler) do(step broker.Restore) (broker.Restored, error) {
	step.ID = f.id
	if step.Topic.Name == "" {
		step.Topic.Name = f.now.Name
	}
	return f.archive.Restore(f.ctx, step)
}

func (f *filler) begin(t broker.Topic) error {
	f.groups = nil
	i := slices.IndexFunc(f.plan, func(p Planned) bool { return p.Name == t.Name })
	if i < 0 || f.plan[i].State == broker.RestoreDone {
		return nil
	}
	begun, err := f.do(broker.Restore{Step: broker.StepBegin, Topic: t})
	if err != nil {
		return fmt.Errorf("topic %s cannot be begun: %w", t.Name, err)
	}
	f.now, f.next = &t, begun.Next
	return nil
}

// run takes a run on: its bytes are the reader's again afterwards.
func (f *filler) run(r broker.Batch) error {
	if f.now == nil || r.Offset+uint64(r.Count) <= f.next {
		return nil
	}
	if f.bytes+len(r.Messages) > partBytes || len(f.runs) == hermes.RunMessages {
		if err := f.flush(); err != nil {
			return err
		}
	}
	at := len(f.buffer)
	f.buffer = append(f.buffer, r.Messages...)
	r.Messages = f.buffer[at:len(f.buffer):len(f.buffer)]
	f.runs = append(f.runs, r)
	f.bytes += len(r.Messages)
	return nil
}

func (f *filler) flush() error {
	if len(f.runs) == 0 {
		return nil
	}
	_, err := f.do(broker.Restore{Step: broker.StepRuns, Runs: f.runs})
	f.runs, f.bytes, f.buffer = f.runs[:0], 0, f.buffer[:0]
	return err
}

// end opens the topic: its groups are put where they were once their messages are there.
func (f *filler) end() error {
	if f.now == nil {
		return nil
	}
	if err := f.flush(); err != nil {
		return err
	}
	for _, g := range f.groups {
		if _, err := f.do(broker.Restore{Step: broker.StepGroup, Topic: *f.now, Group: g}); err != nil {
			return err
		}
	}
	if _, err := f.do(broker.Restore{Step: broker.StepEnd, Topic: *f.now}); err != nil {
		return err
	}
	f.now = nil
	return nil
}
