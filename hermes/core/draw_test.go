package core_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"wirelab/hermes/broker"
	"wirelab/hermes/core"
	"wirelab/wire/status"
)

// draw makes a step that has good odds of meaning something to the model.
func draw(r *rand.Rand, m *model) step {
	topic := uint32(1 + r.IntN(int(m.lastTopic)+1))
	name := []string{"a", "b", "c", "d", "e", "no name"}[r.IntN(6)]
	id := pick(r, slices.Sorted(maps.Keys(m.groups)))
	var next uint64
	if t := m.topics[topic]; t != nil {
		next = t.next
	}
	switch k := r.IntN(100); {
	case k < 40:
		return drawRun(r, m, topic)
	case k < 42:
		first := uint64(r.IntN(3))
		return step{
			fmt.Sprintf("begin %s %d", name, first),
			does(core.BeginTopic(broker.Topic{Name: name, First: first})),
			func(m *model, _ core.Outcome) expected { return m.beginTopic(name, first) },
		}
	case k < 50:
		age := int64(r.IntN(3)) - r.Int64N(2)
		return step{
			fmt.Sprintf("create %s %d", name, age),
			does(core.CreateTopic(broker.Topic{Name: name, RetentionAge: age})),
			func(m *model, _ core.Outcome) expected {
				return m.createTopic(name, age)
			},
		}
	case k < 53:
		return step{
			fmt.Sprintf("delete %d", topic), does(core.DeleteTopic(topic)),
			func(m *model, _ core.Outcome) expected {
				return m.deleteTopic(topic)
			},
		}
	case k < 58:
		before := r.Uint64N(next + 2)
		return step{
			fmt.Sprintf("trim %d %d", topic, before), does(core.Trim(topic, before)),
			func(m *model, _ core.Outcome) expected { return m.trim(topic, before) },
		}
	case k < 59:
		return step{
			"rise", does(core.Rise(1)),
			func(m *model, _ core.Outcome) expected { m.raised = true; return fine },
		}
	case k < 63:
		return step{"open", does(core.OpenProducer(core.Owner{})), func(m *model, o core.Outcome) expected {
			if len(m.producers) >= modelProducers {
				m.forget()
			}
			m.producers = append(m.producers, o.Producer)
			return m.fresh(o.Producer)
		}}
	case k < 70:
		timeout, floor := int64(1+r.IntN(2)), r.Uint64N(next+2)
		name := name[:1]
		return step{
			fmt.Sprintf("group %d %s %d", topic, name, floor),
			does(core.CreateGroup(topic, broker.Group{Name: name, AckTimeout: timeout}, floor, core.Owner{})),
			func(m *model, o core.Outcome) expected {
				e, fresh := m.createGroup(topic, name, timeout, floor)
				if fresh {
					m.groups[o.Group] = &modelGroup{
						topic: topic, name: name, timeout: timeout, floor: floor,
						acked: map[uint64]bool{},
						tries: map[uint64][]uint32{},
					}
					return m.fresh(o.Group)
				}
				return e
			},
		}
	case k < 72:
		return step{fmt.Sprintf("ungroup %d", id), does(core.DeleteGroup(id)), func(m *model, _ core.Outcome) expected {
			if m.groups[id] == nil {
				return fails(status.NotFound)
			}
			delete(m.groups, id)
			return fine
		}}
	case k < 74:
		floor := r.Uint64N(30)
		return step{
			fmt.Sprintf("seek %d %d", id, floor), does(core.SeekGroup(id, floor)),
			func(m *model, _ core.Outcome) expected { return m.seek(id, floor) },
		}
	}
	return drawAck(r, m, id)
}

func pick(r *rand.Rand, ids []uint64) uint64 {
	if len(ids) == 0 || r.IntN(20) == 0 {
		return 77
	}
	return ids[r.IntN(len(ids))]
}

func drawRun(r *rand.Rand, m *model, topic uint32) step {
	count := 1 + r.Uint32N(4)
	var producer, sequence uint64
	if r.IntN(3) > 0 {
		producer = pick(r, m.producers)
		sequence = r.Uint64N(4)
		if t := m.topics[topic]; t != nil {
			for _, known := range t.runs { // mostly the next one, or one that was
				if known.producer == producer && r.IntN(6) > 0 {
					sequence = known.sequence + uint64(known.count)
				} else if known.producer == producer && r.IntN(2) == 0 {
					sequence, count = known.sequence, known.count
					break
				}
			}
		}
	}
	item := run(topic, producer, sequence, count)
	return step{
		fmt.Sprintf("run %d %d %d %d", topic, producer, sequence, count), item,
		func(m *model, _ core.Outcome) expected { return m.run(item.Run) },
	}
}

func drawAck(r *rand.Rand, m *model, id uint64) step {
	limit := uint64(5)
	if g := m.groups[id]; g != nil {
		limit = m.topics[g.topic].next + 1 - min(1, r.Uint64N(10))
	}
	var ranges []broker.Range
	for range r.IntN(4) {
		first := r.Uint64N(limit + 1)
		ranges = append(ranges, broker.Range{First: first, Last: min(first+r.Uint64N(3), limit-min(limit, 1))})
	}
	if r.IntN(4) == 0 && len(ranges) > 0 {
		one, attempts := ranges[0], 1+r.Uint32N(4)
		return step{
			fmt.Sprintf("failed %d %v %d", id, one, attempts),
			does(core.Failed(id, 0, []core.Tried{{Range: one, Attempts: attempts}})),
			func(m *model, _ core.Outcome) expected { return m.failed(id, one, attempts) },
		}
	}
	dead := uint32(max(0, r.IntN(10)-8))
	return step{
		fmt.Sprintf("ack %d %v %d", id, ranges, dead), does(core.Ack(id, 0, ranges, dead)),
		func(m *model, _ core.Outcome) expected { return m.ack(id, ranges, dead) },
	}
}
