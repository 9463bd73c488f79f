package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// many is a rival that can have thousands of topics.
type many interface {
	rival
	// Spread makes so many topics and gives a way to publish to each in turn, as if they were one.
	Spread(ctx context.Context, count int) (topic, error)
	// Groups makes a group of each topic of Spread.
	Groups(ctx context.Context) error
	// Scrape asks a node for its metrics.
	Scrape(ctx context.Context, node int) (bytes int, err error)
	// Again kills a node with -9, starts it, and tells how long it took from the kill until
	// it is ready.
	Again(ctx context.Context, node int) (time.Duration, error)
}

// topicTurns is how often one topic and many take turns within a round.
const topicTurns = 3

// outstanding is how many messages of each of many topics may be unacknowledged, on average:
// of ten thousand topics about what Hermes' client takes where nobody bounds it, 32 MiB. What
// waits for its turn becomes one run; with a message or two for each topic, every one
// is a run of its own, which costs the nodes some five times as much.
const outstanding = 25

// topics publishes to one topic and to many in turns, then kills each node once
// and starts it again.
func (b *bench) topics(ctx context.Context, r rival, alone topic, s setting, size int, w window, seed uint64) (one outcome, err error) {
	m, ok := r.(many)
	if !ok {
		return one, errors.New("it has no way to have so many topics")
	}
	began := time.Now()
	spread, err := m.Spread(ctx, b.scale.topics)
	if err != nil {
		return one, err
	}
	defer func() { err = errors.Join(err, spread.Remove(context.WithoutCancel(ctx))) }()
	made := time.Since(began)
	if err := m.Groups(ctx); err != nil {
		return one, err
	}
	one.Figures = []figure{{"make topics", float64(b.scale.topics) / made.Seconds(), "/s"}}
	s.Window = max(s.Window, outstanding*b.scale.topics)
	if err := b.turns(ctx, r, &one, []topic{alone, spread}, s, size, w, seed); err != nil {
		return one, err
	}
	began = time.Now()
	bytes, err := m.Scrape(ctx, 0)
	if err != nil {
		return one, err
	}
	one.Figures = append(one.Figures, figure{"scrape", time.Since(began).Seconds(), "s"}, figure{"scrape's text", float64(bytes), "B"})
	for node := range nodes {
		took, err := m.Again(ctx, node)
		if err != nil {
			return one, err
		}
		one.Figures = append(one.Figures, figure{fmt.Sprintf("node %d ready after kill -9", node+1), took.Seconds(), "s"})
	}
	return one, nil
}

// turns publishes to one topic and to many in turns.
func (b *bench) turns(ctx context.Context, r rival, one *outcome, both []topic, s setting, size int, w window, seed uint64) error {
	var rates [2]float64
	var used [2][]figure
	for turn := range topicTurns {
		for i, t := range both {
			from, err := look(r)
			if err != nil {
				return err
			}
			part, err := pipelined(ctx, t, s, size, w, nil, seed+uint64(turn))
			if err != nil {
				return err
			}
			rates[i] += part.Rate / topicTurns
			one.Failed += part.Failed
			// Of the last turn: by then there is something in the log.
			if used[i], err = from.since([]string{"one topic", "all topics"}[i], int64(part.Rate*(w.warm+w.length).Seconds())); err != nil {
				return err
			}
		}
	}
	one.Rate = rates[1]
	for i, what := range []string{"publish to one topic", "publish to all topics"} {
		one.Figures = append(append(one.Figures, figure{what, rates[i], "/s"}), used[i]...)
	}
	one.Figures = append(one.Figures, figure{"all topics' rate by one's", rates[1] / rates[0], ""})
	return nil
}
