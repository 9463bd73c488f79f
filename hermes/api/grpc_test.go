package api_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	grpclib "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	grpcstatus "google.golang.org/grpc/status"

	"wirelab/hermes/api/grpc"
	"wirelab/hermes/broker"
	"wirelab/hermes/frame"
	pb "wirelab/hermes/gen"
	wiregrpc "wirelab/wire/grpc"
	"wirelab/wire/status"
)

// grpcCaller calls by the generated client.
type grpcCaller struct {
	c    *cluster
	conn *grpclib.ClientConn
	who  string
}

func newGRPC(c *cluster, m broker.Member, who string) *grpcCaller {
	c.Helper()
	conn, err := grpclib.NewClient(m.GRPC, grpclib.WithTransportCredentials(insecure.NewCredentials()),
		grpclib.WithDefaultCallOptions(grpclib.MaxCallRecvMsgSize(frame.Limit),
			grpclib.MaxCallSendMsgSize(frame.Limit)))
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() { _ = conn.Close() })
	return &grpcCaller{c, conn, who}
}

func (g *grpcCaller) as(who string) caller { return &grpcCaller{g.c, g.conn, who} }

// context is one in which the caller calls.
func (g *grpcCaller) context() context.Context {
	ctx := g.c.Context()
	if g.who != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+g.c.tokens[g.who])
	}
	return ctx
}

var modes = map[string]pb.Mode{
	"": pb.Mode_MODE_CONSISTENT, "consistent": pb.Mode_MODE_CONSISTENT,
	"eventual": pb.Mode_MODE_EVENTUAL, "performance": pb.Mode_MODE_PERFORMANCE, "sometimes": 9,
}

func (g *grpcCaller) ask(w want) (reply, hint string, err error) {
	ctx, cancel := context.WithTimeout(g.context(), patience)
	defer cancel()
	var header metadata.MD
	reply, err = g.call(ctx, w, grpclib.Header(&header))
	if at := header.Get(grpc.LeaderHint); len(at) == 1 {
		hint = at[0]
	}
	if _, known := errors.AsType[*status.Error](err); known {
		return reply, hint, err // of a verdict
	}
	return reply, hint, wiregrpc.Decode(err)
}

func (g *grpcCaller) call(ctx context.Context, w want, o grpclib.CallOption) (string, error) {
	h, a := pb.NewHermesClient(g.conn), pb.NewAdminClient(g.conn)
	switch w.call {
	case "publish":
		r := w.runs[0]
		if len(r.payloads) != 1 {
			return g.batch(ctx, w, o)
		}
		v, err := h.Publish(ctx,
			&pb.PublishRequest{
				Topic: r.topic, Messages: r.message(r.payloads[0]), Mode: modes[r.mode],
				Producer: r.producer, Sequence: r.sequence,
			}, o)
		return verdictText(1, v.GetOffset(), v.GetDuplicate(), v.GetProvisional(), v.GetIndex() != 0), err
	case "batch":
		return g.batch(ctx, w, o)
	case "producer":
		p, err := h.OpenProducer(ctx, &pb.OpenProducerRequest{}, o)
		return strconv.FormatUint(p.GetProducer(), 10), err
	case "topic":
		t, err := a.GetTopic(ctx, &pb.GetTopicRequest{Name: w.topic, Linearizable: true}, o)
		return topicText(t.GetConfig().GetName(), t.GetFirst(), t.GetNext(),
				time.Duration(t.GetConfig().GetRetentionAge())),
			err
	case "topics":
		all, err := a.ListTopics(ctx, &pb.ListTopicsRequest{Prefix: w.topic, Limit: uint32(w.id)}, o)
		var names []string
		for _, t := range all.GetTopics() {
			names = append(names, t.GetConfig().GetName())
		}
		return strings.Join(names, " "), err
	case "create":
		t, err := a.CreateTopic(ctx, &pb.TopicConfig{Name: w.topic, RetentionAge: int64(w.age)}, o)
		return topicText(t.GetConfig().GetName(), t.GetFirst(), t.GetNext(),
				time.Duration(t.GetConfig().GetRetentionAge())),
			err
	case "configure":
		t, err := a.ConfigureTopic(ctx, &pb.TopicConfig{Name: w.topic, RetentionAge: int64(w.age)}, o)
		return topicText(t.GetConfig().GetName(), t.GetFirst(), t.GetNext(),
				time.Duration(t.GetConfig().GetRetentionAge())),
			err
	case "delete":
		_, err := a.DeleteTopic(ctx, &pb.DeleteTopicRequest{Name: w.topic}, o)
		return "", err
	}
	return g.administer(ctx, a, w, o)
}

// administer is call for groups and the cluster.
func (g *grpcCaller) administer(ctx context.Context, a pb.AdminClient, w want, o grpclib.CallOption) (string, error) {
	var group *pb.Group
	var err error
	switch w.call {
	case "group":
		group, err = a.GetGroup(ctx, &pb.GetGroupRequest{Topic: w.topic, Name: w.group}, o)
	case "groups":
		all, err := a.ListGroups(ctx, &pb.ListGroupsRequest{Topic: w.topic}, o)
		var names []string
		for _, one := range all.GetGroups() {
			names = append(names, one.GetConfig().GetName())
		}
		return strings.Join(names, " "), err
	case "makeGroup":
		group, err = a.CreateGroup(ctx, &pb.GroupConfig{
			Topic: w.topic, Name: w.group, AckTimeout: int64(w.age),
			MaxAttempts: uint32(w.attempts),
		}, o)
	case "seek":
		r := &pb.SeekGroupRequest{Topic: w.topic, Name: w.group}
		switch offset, bad := strconv.ParseUint(w.from, 10, 64); {
		case bad == nil:
			r.To = &pb.SeekGroupRequest_Offset{Offset: offset}
		case w.from == "oldest":
			r.To = &pb.SeekGroupRequest_Oldest{Oldest: true}
		case w.from == "tail":
			r.To = &pb.SeekGroupRequest_Tail{Tail: true}
		}
		group, err = a.SeekGroup(ctx, r, o)
	case "deleteGroup":
		_, err = a.DeleteGroup(ctx, &pb.DeleteGroupRequest{Topic: w.topic, Name: w.group}, o)
		return "", err
	case "cluster":
		s, err := a.GetCluster(ctx, &pb.GetClusterRequest{}, o)
		return clusterText(s.GetNode(), s.GetLeader(), len(s.GetMembers())), err
	case "promote":
		s, err := a.Promote(ctx, &pb.MemberRequest{Id: w.id}, o)
		return clusterText(0, s.GetLeader(), len(s.GetMembers())), err
	default:
		g.c.Fatalf("no call %s", w.call)
	}
	return groupText(group.GetConfig().GetName(), group.GetFloor(), group.GetLag(), group.GetDead(),
		time.Duration(group.GetConfig().GetAckTimeout()), int(group.GetConfig().GetMaxAttempts())), err
}

// message is one of a run's.
func (r *run) message(payload []byte) *pb.Message {
	m := &pb.Message{Payload: payload, Key: []byte(r.key)}
	for _, h := range r.headers {
		m.Headers = append(m.Headers, &pb.Header{Name: h[0], Value: []byte(h[1])})
	}
	return m
}

func (g *grpcCaller) batch(ctx context.Context, w want, o grpclib.CallOption) (string, error) {
	request := &pb.PublishBatchRequest{}
	for _, r := range w.runs {
		one := &pb.Run{Topic: r.topic, Mode: modes[r.mode], Producer: r.producer, Sequence: r.sequence}
		for _, payload := range r.payloads {
			one.Messages = append(one.Messages, r.message(payload))
		}
		request.Runs = append(request.Runs, one)
	}
	reply, err := pb.NewHermesClient(g.conn).PublishBatch(ctx, request, o)
	if err != nil {
		return "", err
	}
	var all []string
	for _, v := range reply.GetVerdicts() {
		if e := v.GetError(); e != nil {
			all = append(all, e.GetCode())
			continue
		}
		all = append(all, verdictText(int(v.GetCount()), v.GetOffset(), v.GetDuplicate(), v.GetProvisional(),
			v.GetIndex() != 0))
	}
	if w.call == "publish" && reply.GetVerdicts()[0].GetError() != nil {
		return "", coded(reply.GetVerdicts()[0].GetError().GetCode(), reply.GetVerdicts()[0].GetError().GetMessage())
	}
	return strings.Join(all, ", "), nil
}

// grpcStream is a subscription.
type grpcStream struct {
	call grpclib.BidiStreamingClient[pb.SubscribeRequest, pb.Delivery]
	end  context.CancelFunc
	sent uint64 // acks and nacks
	done uint64 // of them, as far as the API has told
	have []got
	err  error
}

func (g *grpcCaller) subscribe(s start) stream {
	ctx, cancel := context.WithTimeout(g.context(), patience)
	g.c.Cleanup(cancel)
	call, err := pb.NewHermesClient(g.conn).Subscribe(ctx)
	if err != nil {
		return &grpcStream{err: wiregrpc.Decode(err), end: cancel}
	}
	begin := &pb.Start{
		Topic: s.topic, InFlight: uint32(s.inFlight),
		Credit: &pb.Credit{Messages: 1 << 20, Bytes: 1 << 40},
	}
	at, bad := time.Parse(time.RFC3339Nano, s.from)
	offset, none := strconv.ParseUint(s.from, 10, 64)
	switch {
	case s.group != "":
		begin.From = &pb.Start_Group{Group: s.group}
	case bad == nil:
		begin.From = &pb.Start_Time{Time: at.UnixNano()}
	case none == nil:
		begin.From = &pb.Start_Offset{Offset: offset}
	case s.from == "oldest":
		begin.From = &pb.Start_Replay{Replay: true}
	}
	// EOF: the reason is to be read.
	if err := call.Send(&pb.SubscribeRequest{Does: &pb.SubscribeRequest_Start{Start: begin}}); err != nil &&
		!errors.Is(err, io.EOF) {
		return &grpcStream{err: wiregrpc.Decode(err), end: cancel}
	}
	return &grpcStream{call: call, end: cancel}
}

func (s *grpcStream) leave() { s.end() }

// read reads one frame.
func (s *grpcStream) read() error {
	if s.err != nil {
		return s.err
	}
	d, err := s.call.Recv()
	if err != nil {
		s.err = wiregrpc.Decode(err)
		if grpcstatus.Code(err) == codes.OutOfRange {
			s.err = status.Errorf(status.InvalidArgument, "out_of_range %s", grpcstatus.Convert(err).Message())
		}
		return s.err
	}
	s.done = max(s.done, d.GetSettled())
	for i, m := range d.GetMessages() {
		one := got{
			offset: d.GetOffset() + uint64(i), attempt: d.GetAttempt(), payload: string(m.GetPayload()),
			headers: map[string]string{},
		}
		if i == 0 && d.GetGap() != nil {
			one.gap = broker.Range{First: d.GetGap().GetFirst(), Last: d.GetGap().GetLast()}
		}
		for _, h := range m.GetHeaders() {
			one.headers[h.GetName()] = string(h.GetValue())
		}
		s.have = append(s.have, one)
	}
	return nil
}

func (s *grpcStream) next() (got, error) {
	for len(s.have) == 0 {
		if err := s.read(); err != nil {
			return got{}, err
		}
	}
	one := s.have[0]
	s.have = s.have[1:]
	return one, nil
}

func (s *grpcStream) ack(back bool, offsets ...uint64) error {
	var ranges []*pb.Range
	for _, o := range offsets {
		ranges = append(ranges, &pb.Range{First: o, Last: o})
	}
	r := &pb.SubscribeRequest{Does: &pb.SubscribeRequest_Ack{Ack: &pb.Ack{Ranges: ranges}}}
	if back {
		r.Does = &pb.SubscribeRequest_Nack{Nack: &pb.Nack{Ranges: ranges, Reason: "not today"}}
	}
	if err := s.call.Send(r); err != nil {
		return s.read()
	}
	s.sent++
	for s.done < s.sent {
		if err := s.read(); err != nil {
			return err
		}
	}
	return nil
}

// The texts that are common to the APIs.

func verdictText(count int, offset uint64, duplicate, provisional, logged bool) string {
	switch {
	case !logged:
		return fmt.Sprintf("%d handed on", count)
	case provisional:
		return fmt.Sprintf("%d provisional", count)
	case duplicate:
		return fmt.Sprintf("%d at %d again", count, offset)
	}
	return fmt.Sprintf("%d at %d", count, offset)
}

func topicText(name string, first, next uint64, age time.Duration) string {
	return fmt.Sprintf("%s %d-%d for %v", name, first, next, age)
}

func groupText(name string, floor, lag, dead uint64, ack time.Duration, attempts int) string {
	return fmt.Sprintf("%s floor %d lag %d dead %d, %v %d times", name, floor, lag, dead, ack, attempts)
}

func clusterText(node, leader uint64, members int) string {
	return fmt.Sprintf("node %d sees %d lead %d", node, leader, members)
}
