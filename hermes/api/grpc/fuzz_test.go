package grpc_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"wirelab/hermes"
	api "wirelab/hermes/api/grpc"
	"wirelab/hermes/frame"
	pb "wirelab/hermes/gen"
	"wirelab/hermes/gen/origin"
	"wirelab/hermes/record"
)

// FuzzAPI sends bytes to every call: first as the request, or the first frame of a stream, then after a good
// first frame. No answer is Internal or Unknown, and the API stays.
func FuzzAPI(f *testing.F) {
	good := record.AppendMessage(nil, &hermes.Message{Payload: []byte("x"), Key: []byte("k"), Headers: []hermes.Header{
		{Name: "n"},
	}})
	f.Add([]byte(nil))
	f.Add([]byte{0xff})
	f.Add((&frame.Run{Topic: "t", Messages: good, Producer: 1, Sequence: 1, Tag: 1}).Buffers().Materialize())
	f.Add(frame.Runs{{Topic: "t", Messages: good}, {Topic: "none", Tag: 2}}.Buffers().Materialize())
	for _, m := range []proto.Message{
		&pb.SubscribeRequest{Does: &pb.SubscribeRequest_Start{Start: &pb.Start{
			Topic:  "t",
			Credit: &pb.Credit{Messages: 1},
		}}},
		credit(1, 2), acked(0, 1),
		&pb.TopicConfig{Name: "u", RetentionAge: 1}, &pb.GroupConfig{Topic: "t", Name: "g"},
		&pb.ListTopicsRequest{Prefix: "t", Limit: 3}, &pb.JoinRequest{Member: &pb.Member{Id: 2, Peer: "h:1"}},
		&origin.PublishRequest{Topic: "t", Payload: []byte("x")},
		&origin.SubscribeRequest{Topic: "t", Action: "SUBSCRIBE"},
		&pb.RestoreRequest{Restore: 1, Topic: "u", Step: &pb.RestoreRequest_Begin{Begin: &pb.RestoreBegin{First: 3}}},
		&pb.RestoreRequest{Restore: 1, Topic: "u", Step: &pb.RestoreRequest_Runs{
			Runs: &pb.OldRuns{Runs: []*pb.OldRun{{Offset: 3, Messages: []byte{0x12, 0}, Count: 1, Time: 1}}},
		}},
	} {
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	s := serve(f, memory(f), api.Options{})
	var unary, streams []string
	for _, d := range []grpc.ServiceDesc{
		pb.Hermes_ServiceDesc, pb.Admin_ServiceDesc,
		origin.BrokerService_ServiceDesc,
	} {
		for _, m := range d.Methods {
			unary = append(unary, "/"+d.ServiceName+"/"+m.MethodName)
		}
		for _, m := range d.Streams {
			streams = append(streams, "/"+d.ServiceName+"/"+m.StreamName)
		}
	}
	first := map[string]proto.Message{
		pb.Hermes_Subscribe_FullMethodName: &pb.SubscribeRequest{Does: &pb.SubscribeRequest_Start{
			Start: &pb.Start{Topic: "t", From: &pb.Start_Group{Group: "g"}},
		}},
		origin.BrokerService_Subscribe_FullMethodName:     &origin.SubscribeRequest{Topic: "t", Action: "SUBSCRIBE"},
		pb.Hermes_PublishStream_FullMethodName:            alone(&pb.Run{Topic: "t", Messages: []*pb.Message{{}}}),
		origin.BrokerService_PublishStream_FullMethodName: &origin.PublishRequest{Topic: "t"},
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		ctx := patient(t)
		for _, path := range unary {
			var reply frame.Raw
			answered(t, path, s.conn.Invoke(ctx, path, frame.Raw(b), &reply, grpc.ForceCodecV2(frame.Codec{})))
		}
		for _, path := range streams {
			answered(t, path, converse(ctx, s.conn, path, frame.Raw(b)))
			if begin, ok := first[path]; ok { // one that takes a second frame
				answered(t, path, converse(ctx, s.conn, path, begin, frame.Raw(b)))
			}
		}
	})
}

// answered is that an error is no fault of the API.
func answered(t *testing.T, path string, err error) {
	t.Helper()
	switch code := status.Code(err); code {
	case codes.Internal, codes.Unknown, codes.DeadlineExceeded, codes.Unavailable:
		t.Errorf("%s: %v", path, err)
	}
}

// converse sends frames, closes its half and reads until the end.
func converse(ctx context.Context, conn *grpc.ClientConn, path string, frames ...any) error {
	call, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, path,
		grpc.ForceCodecV2(frame.Codec{}))
	if err != nil {
		return err
	}
	for _, f := range frames {
		if err := call.SendMsg(f); err != nil {
			break // the status is to be read
		}
	}
	if err := call.CloseSend(); err != nil {
		return err
	}
	for {
		var reply frame.Raw
		if err := call.RecvMsg(&reply); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}
