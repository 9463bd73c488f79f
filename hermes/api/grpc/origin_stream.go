package grpc

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/frame"
	"wirelab/hermes/gen/origin"
	"wirelab/wire/status"
)

// The bounds of one PublishStream of the origin, in addition to [StreamBytes].
const (
	// originFlying is how many of its runs have no answer yet. What comes in the meantime is put together into
	// longer runs: so a stream that is faster than the disk has longer ones, and a slow one waits for nothing.
	originFlying = 64
	// originPushed is how many messages in mode performance are one run: readers who are given thousands at once miss
	// more of them.
	originPushed = 64
	// originOverhead is what a message costs in addition to its bytes, so that empty ones are bounded too.
	originOverhead = 64
	// originTopics is how many topics a stream remembers.
	originTopics = 1024
)

// originStream is one PublishStream of the origin: a goroutine that reads messages, the handler that publishes
// them in order, and the broker that answers from any goroutine. The origin has one answer for all: how many
// messages were stored, and how many were not.
type originStream struct {
	d    *api
	call grpc.ServerStream

	mu      sync.Mutex // guards all below
	waiting []*originRun
	flying  int
	lost    []*originRun // whose topic was not there, in the order of the answers
	bytes   int          // of all that was read and has no answer
	places  uint64       // that were given to runs
	// known has the topics to which something was published, with the place of the last run that was stored.
	known  map[string]uint64
	reply  origin.PublishStreamResponse
	closed bool // no caller waits for answers any more

	changed chan struct{} // 1: the handler has something to do
	freed   chan struct{} // 1: bytes fell
}

// originRun is messages of one topic that came one after the other.
type originRun struct {
	broker.Run

	place uint64 // among the runs of the stream, from 1
	bytes int    // counted for it
}

// originPublishStream publishes in order, many at once, and counts. Stored data is exact: a message that is
// unknown to be stored counts as failed.
func (d *api) originPublishStream(call grpc.ServerStream) error {
	ctx, end := d.until(call.Context())
	defer end(nil)
	s := &originStream{
		d: d, call: call, known: map[string]uint64{}, changed: make(chan struct{}, 1), freed: make(chan struct{}, 1),
	}
	defer s.close()
	ended := make(chan error, 1) // bounded by the one send
	d.readers.Go(func() { ended <- s.read(ctx) })
	if err := s.publish(ctx, ended); !errors.Is(err, io.EOF) {
		return err
	}
	return call.SendMsg(&s.reply) // no other has it: all is answered
}

// read takes what comes. It ends with io.EOF, or with the fault.
func (s *originStream) read(ctx context.Context) error {
	for {
		var request frame.Raw
		if err := s.call.RecvMsg(&request); err != nil {
			return received(err)
		}
		bytes := len(request) + originOverhead
		if err := s.room(ctx, bytes); err != nil {
			return err
		}
		r := new(origin.PublishRequest)
		err := proto.Unmarshal(request, r)
		if err != nil {
			err = unreadable(err)
		}
		s.take(r, bytes, err)
		if err != nil {
			return err
		}
	}
}

// room waits until another message may be in hand. One always may.
func (s *originStream) room(ctx context.Context, bytes int) error {
	if err := s.d.intake.Wait(ctx.Done(), bytes); err != nil {
		return err
	}
	for {
		s.mu.Lock()
		if s.bytes == 0 || s.bytes+bytes <= StreamBytes {
			s.bytes += bytes
			s.mu.Unlock()
			return nil
		}
		s.mu.Unlock()
		select {
		case <-s.freed:
		case <-ctx.Done():
			s.d.intake.Give(bytes)
			return context.Cause(ctx)
		}
	}
}

// take puts a message behind those that wait, or counts it as failed where it is none. One that is malformed
// counts as nothing: it ends the stream.
func (s *originStream) take(r *origin.PublishRequest, bytes int, malformed error) {
	runs, err := originRuns(r.GetTopic(), r.GetMode(), [][]byte{r.GetPayload()})
	s.mu.Lock()
	defer s.mu.Unlock()
	if malformed != nil || err != nil || s.closed {
		if malformed == nil {
			s.reply.FailedCount++
		}
		s.free(bytes)
		return
	}
	run := runs[0] // one message is one run
	if n := len(s.waiting); n == 0 || !s.waiting[n-1].join(run, bytes) {
		s.places++
		s.waiting = append(s.waiting, &originRun{Run: run, place: s.places, bytes: bytes})
	}
	signal(s.changed)
}

// join puts another run behind the messages of one, if they may be one run.
func (r *originRun) join(next broker.Run, bytes int) bool {
	most := hermes.RunMessages
	if r.Mode == hermes.Performance {
		most = originPushed
	}
	if r.Topic != next.Topic || r.Mode != next.Mode || r.Count+next.Count > most ||
		len(r.Messages)+len(next.Messages) > hermes.RunLimit {
		return false
	}
	r.Messages = append(r.Messages, next.Messages...)
	r.Count += next.Count
	r.bytes += bytes
	return true
}

// publish publishes until the reader has ended and all that it read is answered. It returns the reader's end.
func (s *originStream) publish(ctx context.Context, ended <-chan error) error {
	var end error
	for {
		run, again := s.next()
		switch {
		case run == nil:
		case again:
			s.store(ctx, run)
			continue
		default:
			s.d.broker.Publish(ctx, run.Run, func(v broker.Verdict) { s.answer(run, v.Err) })
			continue
		}
		if end != nil && s.idle() {
			return end
		}
		select {
		case <-s.changed:
		case end = <-ended:
			ended = nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// next returns the run that is to be published now; nil: none yet. It is to be stored before anything else is
// published if it is unknown whether its topic is there, and if it was not: what comes behind must not pass it.
// So is one in mode performance: there only the answers keep a publisher from running away from its readers.
func (s *originStream) next() (run *originRun, alone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.lost) > 0 {
		if s.flying > 0 {
			return nil, false
		}
		slices.SortFunc(s.lost, func(a, b *originRun) int { return cmp.Compare(a.place, b.place) })
		run, s.lost = s.lost[0], s.lost[1:]
		s.flying++
		return run, true
	}
	if len(s.waiting) == 0 || s.flying >= originFlying {
		return nil, false
	}
	run = s.waiting[0]
	_, known := s.known[run.Topic]
	alone = !known || run.Mode == hermes.Performance
	if alone && s.flying > 0 {
		return nil, false
	}
	s.waiting = s.waiting[1:]
	s.flying++
	return run, alone
}

// store stores a run on its own, and makes its topic if that is not there, as the origin does. A run that
// another one of its topic has passed in the meantime has failed: in its place it cannot be any more.
func (s *originStream) store(ctx context.Context, run *originRun) {
	s.mu.Lock()
	if len(s.known) >= originTopics && len(s.lost) == 0 {
		clear(s.known) // nothing else is under way, so that no place is asked for
	}
	passed := s.known[run.Topic] > run.place
	s.mu.Unlock()
	if passed {
		s.answer(run, status.Errorf(status.Conflict, "the topic was deleted and made again"))
		return
	}
	_, err := s.d.originStore(ctx, []broker.Run{run.Run})
	if err != nil && status.CodeOf(err) == status.NotFound { // deleted again, and that is enough
		err = status.Errorf(status.Conflict, "%s", status.Public(err).Message)
	}
	s.answer(run, err)
}

// answer takes the answer to a run, from any goroutine, also after the stream has ended.
func (s *originStream) answer(run *originRun, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer signal(s.changed)
	s.flying--
	switch {
	case err == nil:
		s.reply.ProcessedCount += int64(run.Count)
		s.known[run.Topic] = max(s.known[run.Topic], run.place)
	case status.CodeOf(err) == status.NotFound && !s.closed:
		s.lost = append(s.lost, run)
		return
	default:
		s.reply.FailedCount += int64(run.Count)
	}
	s.free(run.bytes)
}

// free takes bytes off the count. s.mu is held.
func (s *originStream) free(bytes int) {
	s.bytes -= bytes
	s.d.intake.Give(bytes)
	signal(s.freed)
}

// idle reports whether all that was read is answered.
func (s *originStream) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.flying == 0 && len(s.waiting) == 0 && len(s.lost) == 0
}

// close gives back what no one will publish any more.
func (s *originStream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, run := range slices.Concat(s.waiting, s.lost) {
		s.free(run.bytes)
	}
	s.waiting, s.lost = nil, nil
}
