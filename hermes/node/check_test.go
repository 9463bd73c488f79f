package node_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"wirelab/hermes/broker"
	"wirelab/hermes/broker/brokertest"
	"wirelab/hermes/node"
	"wirelab/hermes/vfs"
	"wirelab/hermes/wal"
	"wirelab/wire/status"
)

// kept is the directory of a node that stored, acknowledged, trimmed and deleted things in several segments.
func kept(t *testing.T) (*vfs.Memory, node.Options) {
	t.Helper()
	fs := vfs.NewMemory()
	o := options(fs)
	o.Log = wal.Options{SegmentBytes: 16 << 10}
	n := start(t, o)
	create(t, n, broker.Topic{Name: "a", RetentionBytes: 1 << 10})
	create(t, n, broker.Topic{Name: "b"})
	producer, err := n.OpenProducer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	large := strings.Repeat("x", 1000)
	for i := range 60 {
		topic := []string{"a", "b"}[i%2]
		run := broker.Run{
			Topic: topic, Messages: brokertest.Messages("y", large), Count: 2, Producer: producer,
			Sequence: uint64(i/2)*2 + 1,
		}
		if v := brokertest.Publish(t.Context(), n, run); v.Err != nil {
			t.Fatal(v.Err)
		}
	}
	f, err := n.Subscribe(t.Context(), broker.Start{Topic: "b", From: broker.FromGroup, Group: "g"})
	if err != nil {
		t.Fatal(err)
	}
	next(t, f, 6)
	if err := f.Ack(t.Context(), []broker.Range{{First: 0, Last: 1}, {First: 4, Last: 5}}); err != nil {
		t.Fatal(err)
	}
	if _, err := node.Check(t.Context(), fs, o.Dir, nil); !errors.Is(err, vfs.ErrLocked) {
		t.Errorf("the directory of a running node: %v", err)
	}
	until(t, "a segment is sealed", func() bool {
		names, err := fs.List(o.Dir)
		return err == nil && slices.ContainsFunc(names, func(s string) bool { return strings.HasSuffix(s, ".index") })
	})
	stop(t, n)
	return fs, o
}

func TestCheck(t *testing.T) {
	fs, o := kept(t)
	read := int64(0)
	c, err := node.Check(t.Context(), fs, o.Dir, func(done, total int64) {
		if done < read || done > total {
			t.Errorf("%d of %d bytes after %d", done, total, read)
		}
		read = done
	})
	if err != nil || len(c.Findings) > 0 {
		t.Fatal(c.Findings, err)
	}
	if c.Node != o.Self.ID || c.Topics != 3 || c.Messages+c.Gone != 120 || c.Segments < 3 || c.Sealed == 0 ||
		c.Bytes != c.Total || read != c.Total {
		t.Errorf("%+v", c)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if c, err := node.Check(ended, fs, o.Dir, nil); !errors.Is(err, context.Canceled) || c.Bytes >= c.Total {
		t.Errorf("ended at %d of %d: %v", c.Bytes, c.Total, err)
	}
	if _, err := node.Check(t.Context(), fs, "/elsewhere", nil); status.CodeOf(err) != status.NotFound {
		t.Errorf("no log: %v", err)
	}
}

// Every file's damage is reported with the file's name.
func TestCheckDamage(t *testing.T) {
	fs, o := kept(t)
	names, err := fs.List(o.Dir)
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, name := range names {
		if name == "birthmark" {
			continue // its content means nothing
		}
		path := o.Dir + "/" + name
		f, err := fs.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		size, err := f.Size()
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range []int64{1, 100, 400} {
			b := make([]byte, 1)
			if at >= size {
				continue
			}
			if n, err := f.ReadAt(b, at); n == 0 {
				t.Fatal(err)
			}
			if b[0] == 0 && at > 1 {
				continue // the end of the file may be anything
			}
			was := b[0]
			write := func(c byte) {
				if _, err := f.WriteAt([]byte{c}, at); err != nil {
					t.Fatal(err)
				}
			}
			write(was ^ 0xff)
			c, err := node.Check(t.Context(), fs, o.Dir, nil)
			if err != nil {
				t.Fatal(err)
			}
			tried++
			empty := c.Tail > 0 || strings.HasSuffix(name, ".log") && len(c.Findings) == 0 && at == 1
			if len(c.Findings) == 0 && !empty {
				t.Errorf("byte %d of %s was changed and nothing found", at, name)
			} else if len(c.Findings) > 0 && !strings.Contains(c.Findings[0].File, name) {
				t.Errorf("byte %d of %s: %v", at, name, c.Findings)
			}
			write(was)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if tried < 10 {
		t.Errorf("%d bytes were tried", tried)
	}
}
