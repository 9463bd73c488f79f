package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"wirelab/hermes/broker"
	"wirelab/hermes/client"
)

// flipFile flips one bit of a file, as a disk does under a process that runs.
func flipFile(t *testing.T, name string, at int64, bit int) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, 1)
	if _, err := f.ReadAt(b, at); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 1 << bit
	if _, err := f.WriteAt(b, at); err != nil {
		t.Fatal(err)
	}
}

// runRecords is where the records of runs begin in an index file, and how many there are.
func runRecords(t *testing.T, name string) (at, count int64) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	n := func(i int) int64 { return int64(binary.LittleEndian.Uint32(b[88+4*i:])) }
	return 136 + n(0)*16 + n(1) + n(2)*40 + n(3)*48 + n(4)*8, n(5)
}

// One bit of one run's record in an index file, under a leader that runs and has the messages no longer in memory:
// its offset, its time, where it is, its bytes and its count. Every reader and a group get each message at its
// offset, and the node tells what it repaired.
func TestBitFlippedUnderALeader(t *testing.T) {
	t.Setenv("HERMES_SEGMENT_BYTES", "64KiB")
	t.Setenv("HERMES_TAIL_BYTES", "4KiB")
	t.Setenv("HERMES_SCRUB_BYTES", "0") // who reads is to find it
	k := gather(t, 20_000)
	leader := k.l.nodes[0]
	indexes := func() []string {
		names, err := filepath.Glob(filepath.Join(leader.Data, "*.index"))
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	for len(indexes()) == 0 {
		if k.ctx.Err() != nil {
			t.Fatal("no segment was sealed")
		}
		time.Sleep(10 * time.Millisecond)
	}
	name := indexes()[0]
	at, count := runRecords(t, name)
	c, err := client.New(client.Options{Addresses: []string{leader.GRPC}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for i, field := range []int64{0, 1, 8, 16, 20, 24, 28} {
		record := at + int64(i)%count*36
		flipFile(t, name, record+field, 0)
		k.reads(c, broker.Start{Topic: "t", From: broker.FromOldest})
		if i == 0 {
			k.reads(c, broker.Start{Topic: "t", From: broker.FromGroup, Group: "g", Create: true})
		}
	}
	if text := k.metrics(leader); !strings.Contains(text, "hermes_scrub_repaired_total 7") || !strings.Contains(text,
		"hermes_scrub_damage_open 0") {
		t.Errorf("metrics tell %s", slices.Collect(strings.Lines(text)))
	}
}

// reads reads all there is.
func (k *crowd) reads(c *client.Client, start broker.Start) {
	k.Helper()
	s, err := c.Subscribe(k.ctx, start)
	if err != nil {
		k.Fatal(err)
	}
	for i := range k.n {
		d, err := s.Next(k.ctx)
		if err != nil {
			k.Fatal(err)
		}
		if d.Offset != uint64(i) || string(d.Payload) != fmt.Sprint(i) {
			k.Fatalf("message %s came at offset %d in place of %d", d.Payload, d.Offset, i)
		}
		if start.Group == "" {
			continue
		}
		if err := s.Ack(k.ctx, broker.Range{First: d.Offset, Last: d.Offset}); err != nil {
			k.Fatal(err)
		}
	}
	if err := s.Close(k.ctx); err != nil {
		k.Fatal(err)
	}
}

func (k *crowd) metrics(of running) string {
	k.Helper()
	r, err := http.Get("http://" + of.HTTP + "/metrics")
	if err != nil {
		k.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		k.Fatal(err)
	}
	return string(b)
}
