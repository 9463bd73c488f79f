package grpc_test

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	api "wirelab/hermes/api/grpc"
	"wirelab/hermes/api/intake"
	pb "wirelab/hermes/gen"
)

// All that calls bring is taken off the count when they are answered, and one that finds no room is notified,
// with the bound.
func TestIntake(t *testing.T) {
	in := intake.New(intake.Options{Bytes: intake.Least, Patience: time.Millisecond})
	s := serve(t, memory(t), api.Options{Intake: in})
	client := pb.NewHermesClient(s.conn)
	publish := func(bytes int) error {
		_, err := client.Publish(patient(t), &pb.PublishRequest{Topic: "t", Messages: &pb.Message{
			Payload: make([]byte, bytes),
		}})
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
	// Of a call that came in two pieces the node cannot say it: it does not read on, and ends the connection.
	for err = publish(1000); status.Code(err) == codes.Unavailable && t.Context().Err() == nil; {
		err = publish(1000)
	}
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

// A stream's window is of use only if the connection has one that is as large: HTTP/2 begins with 64 KiB for all
// streams together, which is less than a publisher has under way.
func TestConnectionWindow(t *testing.T) {
	t.Parallel()
	s := serve(t, memory(t), api.Options{})
	c, err := net.Dial("tcp", strings.TrimPrefix(s.conn.Target(), "passthrough:///"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	f := http2.NewFramer(c, c)
	if _, err := c.Write([]byte(http2.ClientPreface)); err != nil {
		t.Fatal(err)
	}
	if err := f.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	stream, connection := uint32(0), uint32(65_535)
	if err := f.WritePing(false, [8]byte{}); err != nil { // answered behind what the server begins with
		t.Fatal(err)
	}
	for over := false; !over; {
		frame, err := f.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if v, ok := frame.Value(http2.SettingInitialWindowSize); ok {
				stream = v
			}
		case *http2.WindowUpdateFrame:
			connection += frame.Increment
		case *http2.PingFrame:
			over = frame.IsAck()
		}
	}
	if stream < 1<<20 || connection < stream {
		t.Errorf("a stream has a window of %d bytes, and all of a connection one of %d", stream, connection)
	}
}
