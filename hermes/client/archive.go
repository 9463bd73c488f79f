package client

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"wirelab/hermes/broker"
	pb "wirelab/hermes/gen"
	"wirelab/hermes/record"
	wiregrpc "wirelab/wire/grpc"
	"wirelab/wire/status"
)

var _ broker.Archive = (*Client)(nil)

var backupStream = &grpc.StreamDesc{StreamName: "Backup", ServerStreams: true}

// Cut begins to read topics, or all, from a node. Until it has begun, another node is tried when one fails;
// after that, the failure of its node is the cut's: it is of that node, and no other continues with it. A node
// that says nothing for as long as Patience, and gives no sign of life, has failed.
func (c *Client) Cut(ctx context.Context, topics []string) (broker.Cut, error) {
	trying, cancel := context.WithTimeout(ctx, c.options.RetryFor)
	defer cancel()
	var p pause
	last := errClosed
	for p.wait(trying) {
		if c.ctx.Err() != nil {
			return nil, errClosed
		}
		r, err := c.beginCut(ctx, topics)
		if err == nil {
			return r, nil
		}
		if last = err; status.CodeOf(err) != status.Unavailable {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, status.Public(err)
	}
	return nil, last
}

func (c *Client) beginCut(ctx context.Context, topics []string) (*cut, error) {
	ctx, end := context.WithCancelCause(ctx)
	unhook := context.AfterFunc(c.ctx, func() { end(errClosed) })
	var asked tried
	stream, address, err := c.open(ctx, backupStream, pb.Admin_Backup_FullMethodName, false, &asked)
	if err != nil {
		unhook()
		end(nil)
		return nil, asked.failed(err)
	}
	r := &cut{stream: stream, address: address, ctx: ctx, end: func(cause error) { unhook(); end(cause) }}
	r.guarded.Go(func() {
		c.nodes.guard(ctx, address, func(most time.Duration) bool {
			since := r.since.Load()
			return since != 0 && time.Since(time.Unix(0, since)) > most
		}, end)
	})
	err = stream.SendMsg(&pb.BackupRequest{Topics: topics})
	if err == nil || errors.Is(err, io.EOF) { // EOF: RecvMsg says why
		err = stream.CloseSend()
	}
	var first *pb.BackupPart
	if err == nil {
		first, err = r.receive()
	}
	if err == nil && first.GetCut() == nil {
		err = status.Errorf(status.Internal, "%s does not begin a backup with its cut", address)
	}
	if err != nil {
		r.Close()
		if status.CodeOf(err) == status.Unavailable {
			c.nodes.lost(address)
		}
		return nil, err
	}
	r.at = broker.Point{Index: first.GetCut().GetIndex(), Time: first.GetCut().GetTime()}
	return r, nil
}

// cut is a backup that comes from a node.
type cut struct {
	stream  grpc.ClientStream
	address string
	ctx     context.Context //nolint:containedctx // the stream's, whose cause says why it ended
	end     func(error)
	guarded sync.WaitGroup
	at      broker.Point
	since   atomic.Int64 // when the reader began to wait, Unix nanoseconds; 0: it does not
	ahead   []broker.Batch
	err     error // it is over
}

// At implements [broker.Cut].
func (r *cut) At() broker.Point { return r.at }

// Next implements [broker.Cut]. A context that ends before the node answers ends the cut.
func (r *cut) Next(ctx context.Context, limit int) (broker.Part, error) {
	if err := ctx.Err(); err != nil {
		return broker.Part{}, status.Public(err)
	}
	if cause := context.Cause(r.ctx); cause != nil {
		return broker.Part{}, status.Public(cause)
	}
	if len(r.ahead) > 0 {
		return broker.Part{Runs: r.take(limit)}, nil
	}
	if r.err != nil {
		return broker.Part{}, r.err
	}
	defer context.AfterFunc(ctx, func() { r.end(status.Public(ctx.Err())) })()
	var p broker.Part
	p, r.err = r.next()
	if r.ahead = p.Runs; len(p.Runs) > 0 {
		p.Runs = r.take(limit)
	}
	return p, r.err
}

// take cuts from what came as much as is wanted.
func (r *cut) take(limit int) (runs []broker.Batch) {
	for len(r.ahead) > 0 {
		b := &r.ahead[0]
		if len(b.Messages) > limit {
			head := *b
			if head.Messages, head.Count = record.Head(b.Messages, 0, limit); len(runs) > 0 &&
				len(head.Messages) > limit {
				break
			}
			b.Messages, b.Offset, b.Count = b.Messages[len(head.Messages):], b.Offset+uint64(head.Count),
				b.Count-head.Count
			runs = append(runs, head)
			if b.Count == 0 {
				r.ahead = r.ahead[1:]
			}
			break
		}
		limit -= len(b.Messages)
		runs = append(runs, *b)
		r.ahead = r.ahead[1:]
	}
	return runs
}

func (r *cut) next() (broker.Part, error) {
	m, err := r.receive()
	if err != nil {
		return broker.Part{}, err
	}
	switch part := m.GetPart().(type) {
	case *pb.BackupPart_Topic:
		t := topic(part.Topic)
		return broker.Part{Topic: &t}, nil
	case *pb.BackupPart_Group:
		g := group(part.Group)
		return broker.Part{Group: &g}, nil
	case *pb.BackupPart_Runs:
		var runs []broker.Batch
		for _, b := range part.Runs.GetRuns() {
			runs = append(runs,
				broker.Batch{
					Offset: b.GetOffset(), Count: int(b.GetCount()), Time: b.GetTime(), Attempt: 1,
					Messages: b.GetMessages(),
				})
		}
		return broker.Part{Runs: runs}, nil
	case *pb.BackupPart_End:
		return broker.Part{}, io.EOF
	}
	return broker.Part{}, status.Errorf(status.Unimplemented,
		"%s sends a part of a backup that this client does not know: use a later one", r.address)
}

func (r *cut) receive() (*pb.BackupPart, error) {
	m := new(pb.BackupPart)
	r.since.Store(time.Now().UnixNano())
	err := r.stream.RecvMsg(m)
	r.since.Store(0)
	if err == nil {
		return m, nil
	}
	if cause := context.Cause(r.ctx); cause != nil {
		return nil, status.Public(cause)
	}
	if errors.Is(err, io.EOF) {
		return nil, status.Errorf(status.Internal, "%s ended the backup before its end", r.address)
	}
	err = wiregrpc.Decode(err)
	if status.CodeOf(err) == status.Unavailable {
		return nil, status.Errorf(status.Unavailable, "node %s, which the backup was read from, went away: %v",
			r.address,
			err)
	}
	return nil, err
}

// Close implements [broker.Cut].
func (r *cut) Close() {
	closeStream(r.stream)
	r.end(status.Errorf(status.Canceled, "the cut was closed"))
	r.guarded.Wait()
}

// Restore does one step of bringing a topic back.
func (c *Client) Restore(ctx context.Context, step broker.Restore) (broker.Restored, error) {
	r := &pb.RestoreRequest{Restore: step.ID, Topic: step.Topic.Name}
	switch step.Step {
	case broker.StepLook:
		r.Step = &pb.RestoreRequest_Look{Look: &pb.RestoreLook{}}
	case broker.StepBegin:
		t := step.Topic
		r.Step = &pb.RestoreRequest_Begin{Begin: &pb.RestoreBegin{
			RetentionAge:   t.RetentionAge,
			RetentionBytes: t.RetentionBytes, First: t.First, Created: t.Created,
		}}
	case broker.StepRuns:
		runs := &pb.OldRuns{}
		for _, b := range step.Runs {
			runs.Runs = append(runs.Runs, &pb.OldRun{
				Offset: b.Offset, Messages: b.Messages, Count: uint32(b.Count),
				Time: b.Time,
			})
		}
		r.Step = &pb.RestoreRequest_Runs{Runs: runs}
	case broker.StepGroup:
		g := step.Group
		m := &pb.Group{
			Config: &pb.GroupConfig{Name: g.Name, AckTimeout: g.AckTimeout, MaxAttempts: g.MaxAttempts}, Floor: g.Floor,
			Dead: g.Dead,
		}
		for _, a := range g.Acked {
			m.Acked = append(m.Acked, &pb.Range{First: a.First, Last: a.Last})
		}
		r.Step = &pb.RestoreRequest_Group{Group: &pb.RestoreGroup{Group: m, Next: step.Topic.Next}}
	case broker.StepEnd:
		r.Step = &pb.RestoreRequest_End{End: &pb.RestoreEnd{Next: step.Topic.Next}}
	}
	reply, err := call(ctx, c, r, pb.AdminClient.Restore)
	return broker.Restored{State: broker.RestoreState(reply.GetState()), Next: reply.GetNext()}, err
}
