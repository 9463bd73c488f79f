package grpc_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	door "wirelab/hermes/door/grpc"
	"wirelab/hermes/door/intake"
	pb "wirelab/hermes/gen"
)

// All that calls bring is taken off the count when they are answered, and one that finds no room is told
// so, with the bound.
func TestIntake(t *testing.T) {
	in := intake.New(intake.Options{Bytes: intake.Least, Patience: time.Millisecond})
	s := serve(t, memory(t), door.Options{Intake: in})
	client := pb.NewHermesClient(s.conn)
	publish := func(bytes int) error {
		_, err := client.Publish(patient(t), &pb.PublishRequest{Topic: "t", Messages: &pb.Message{Payload: make([]byte, bytes)}})
		return err
	}
	empty := func() {
		t.Helper()
		for in.Counts().Bytes != 0 { // an answer is sent before its request is let go of
			time.Sleep(time.Millisecond)
		}
	}
	for range 20 {
		if err := publish(900 << 10); err != nil {
			t.Fatal(err)
		}
	}
	stream, err := client.PublishStream(patient(t))
	if err != nil {
		t.Fatal(err)
	}
	for tag := range uint64(20) {
		run := &pb.Run{Tag: tag, Topic: "t", Messages: []*pb.Message{{Payload: make([]byte, 300<<10)}}}
		if err := stream.Send(&pb.Runs{Runs: []*pb.Run{run}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = stream.Recv()
	}
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	empty()
	if err := in.Admit(t.Context().Done(), intake.Least); err != nil {
		t.Fatal(err)
	}
	err = publish(1000)
	wantCode(t, "a publish without room", err, codes.ResourceExhausted)
	if !strings.Contains(err.Error(), "16777216 bytes") {
		t.Errorf("the bound is not named: %v", err)
	}
	in.Give(intake.Least)
	if err := publish(900 << 10); err != nil {
		t.Fatal(err)
	}
	empty()
}
