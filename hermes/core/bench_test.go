package core_test

import (
	"fmt"
	"testing"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/core"
	"wirelab/hermes/record"
)

// BenchmarkApply applies entries of ten runs of a hundred messages, each entry to
// one of so many topics.
func BenchmarkApply(b *testing.B) {
	m := hermes.Message{Payload: make([]byte, 100)}
	var messages []byte
	for range 100 {
		messages = record.AppendMessage(messages, &m)
	}
	for _, topics := range []int{1, 10_000} {
		for _, idempotent := range []bool{false, true} {
			b.Run(fmt.Sprintf("topics=%d/idempotent=%t", topics, idempotent), func(b *testing.B) {
				j := journal{b, core.New()}
				for i := range topics {
					j.done(does(core.CreateTopic(broker.Topic{Name: fmt.Sprint("t", i)})))
				}
				var producer uint64
				if idempotent {
					producer = j.done(does(core.OpenProducer(core.Owner{}))).Producer
				}
				next := make([]uint64, topics)
				var out []core.Outcome
				var data []byte
				b.ReportAllocs()
				for n := 0; b.Loop(); n++ {
					b.StopTimer()
					at := n * 7919 % topics
					data = record.AppendEntry(data[:0], int64(n))
					for range 10 {
						data = record.AppendRun(data,
							record.Run{
								Topic: uint32(2 + at), Producer: producer, Sequence: 1 + next[at],
								Count: 100, Messages: messages,
							})
						next[at] += 100
					}
					b.StartTimer()
					var err error
					if out, err = j.m.Apply(j.m.Applied()+1, data, out[:0]); err != nil || out[9].Err != nil {
						b.Fatal(err, out)
					}
				}
				b.ReportMetric(float64(b.N)*1000/b.Elapsed().Seconds(), "messages/s")
			})
		}
	}
}

// BenchmarkSingles applies entries of a thousand runs of one message each, which is what
// callers make that wait for each message.
func BenchmarkSingles(b *testing.B) {
	j, topic := begin(b)
	m := hermes.Message{Payload: make([]byte, 100)}
	data := record.AppendEntry(nil, 1)
	for range 1000 {
		data = record.AppendRun(data, record.Run{Topic: topic, Count: 1, Messages: record.AppendMessage(nil, &m)})
	}
	var out []core.Outcome
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if out, err = j.m.Apply(j.m.Applied()+1, data, out[:0]); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*1000/b.Elapsed().Seconds(), "messages/s")
}

// BenchmarkAck applies an acknowledgement of one range to a group with as many gaps
// as it may have.
func BenchmarkAck(b *testing.B) {
	j, topic := begin(b)
	j.done(record.Item{Run: record.Run{Topic: topic, Count: 100_000, Size: 1 << 20, Cleaned: true}})
	g := j.done(does(core.CreateGroup(topic, broker.Group{Name: "g"}, 0, core.Owner{}))).Group
	for i := range uint64(hermes.GroupRanges) {
		j.done(does(core.Ack(g, 0, []broker.Range{{First: 2*i + 2, Last: 2*i + 2}}, 0)))
	}
	b.ReportAllocs()
	for n := uint64(0); b.Loop(); n++ {
		at := 30_000 + n%60_000
		data := write(0, []record.Item{does(core.Ack(g, 0, []broker.Range{{First: at, Last: at}}, 0))})
		if _, err := j.m.Apply(j.m.Applied()+1, data, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSnapshot writes and reads the state of 10,000 topics.
func BenchmarkSnapshot(b *testing.B) {
	j := journal{b, core.New()}
	for i := range 10_000 {
		topic := j.done(does(core.CreateTopic(broker.Topic{Name: fmt.Sprint("topic-", i)}))).Topic
		for range 20 {
			j.done(record.Item{Run: record.Run{Topic: topic, Count: 100, Size: 100_000, Cleaned: true}})
		}
		j.done(does(core.CreateGroup(topic, broker.Group{Name: "g"}, 0, core.Owner{})))
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := core.Restore(j.m.Snapshot()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(j.m.Snapshot())), "bytes")
}
