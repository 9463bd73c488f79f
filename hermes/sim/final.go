package sim

import (
	"encoding/binary"
	"math"

	"github.com/anishathalye/porcupine"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/record"
)

// name is a message's, or a run's by its first.
type name struct{ client, first uint64 }

// final checks the rest when all is quiet.
func (j *judge) final() {
	where := map[name]landed{}
	next := map[uint32]uint64{}
	for index, e := range j.log {
		for _, run := range e.runs {
			if before, ok := where[name{run.client, run.first}]; ok {
				j.world.fail("the run %d of client %d was stored at offset %d and, by entry %d, at %d", run.first,
					run.client,
					before.offset, index+1, run.offset)
			}
			if run.offset != next[run.topic] {
				j.world.fail("topic %d continues at offset %d after %d", run.topic, run.offset, next[run.topic])
			}
			next[run.topic] += uint64(run.count)
			where[name{run.client, run.first}] = run
			for i := range uint64(run.count) {
				j.truth[run.topic] = append(j.truth[run.topic], name{run.client, run.first + i})
			}
		}
	}
	for _, a := range j.acks {
		run, ok := where[name{a.one.client, a.one.first}]
		if !ok || run.offset != a.one.offset || run.count != a.one.count || run.topic != a.one.topic {
			j.world.fail("the run %d of client %d was acknowledged at offset %d of topic %d, and is %+v (stored: %v)",
				a.one.first, a.one.client, a.one.offset, a.one.topic, run, ok)
		}
	}
	for _, n := range j.world.members() {
		j.compare(n, n.replica.Machine())
		j.stored(n)
		j.messages(n)
		j.groups(n)
		j.crews(n)
	}
	history := j.reads
	for _, one := range j.published {
		run, ok := where[name{one.client, one.first}]
		if !ok {
			continue // it never happened
		}
		history = append(history, porcupine.Operation{
			Input: operation{topic: one.topic, count: uint64(one.count)}, Output: run.offset,
			Call: int64(one.begun), Return: int64(one.ended),
		})
	}
	j.linearizable(history)
	j.seen()
}

// stored: what a node's disk holds is what was applied.
func (j *judge) stored(n *node) {
	storage := n.disk.storage()
	first, err := storage.FirstIndex()
	if err != nil {
		j.world.fail("node %d: %v", n.id, err)
		return
	}
	entries, err := storage.Entries(first, n.replica.Machine().Applied()+1, math.MaxUint64)
	if err != nil && first <= n.replica.Machine().Applied() {
		j.world.fail("node %d: entries from %d: %v", n.id, first, err)
	}
	for _, e := range entries {
		if !j.same(e) {
			j.world.fail("entry %d on the disk of node %d is not the one that was applied", e.GetIndex(), n.id)
		}
	}
}

// messages: each topic reads on each node as it was published, from its first offset to its last.
func (j *judge) messages(n *node) {
	for _, id := range j.topics {
		topic, ok := n.replica.Machine().TopicByID(id)
		if !ok {
			j.world.fail("node %d has no topic %d", n.id, id)
			return
		}
		at := topic.First
		for at < topic.Next {
			batches, kept, err := n.disk.messages(id, at, topic.Next)
			if !kept {
				return
			}
			if err != nil || len(batches) == 0 {
				j.world.fail("node %d: topic %d reads %d batches at offset %d of %d: %v", n.id, id, len(batches), at,
					topic.Next,
					err)
				return
			}
			for _, b := range batches {
				if b.Offset != at {
					j.world.fail("node %d: topic %d continues at offset %d after %d", n.id, id, b.Offset, at)
					return
				}
				at += uint64(b.Count)
				j.batch(n, id, b)
			}
		}
	}
}

// batch: the messages read at an offset are those that were published there.
func (j *judge) batch(n *node, topic uint32, b broker.Batch) {
	at := b.Offset
	for bytes := range record.Messages(b.Messages) {
		var m hermes.Message
		if err := record.ReadMessage(bytes, &m); err != nil || len(m.Payload) < 16 {
			j.world.fail("node %d: topic %d offset %d holds no message: %v", n.id, topic, at, err)
			return
		}
		is := name{binary.BigEndian.Uint64(m.Payload), binary.BigEndian.Uint64(m.Payload[8:])}
		if was := j.truth[topic][at]; is != was {
			j.world.fail("node %d: topic %d offset %d reads as message %v and is %v", n.id, topic, at, is, was)
		}
		at++
	}
	if at != b.Offset+uint64(b.Count) {
		j.world.fail("node %d: topic %d: a batch of %d messages at offset %d has %d", n.id, topic, b.Count, b.Offset,
			at-b.Offset)
	}
}
