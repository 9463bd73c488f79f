package grpc_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	reflection "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	"wirelab/hermes/access"
	api "wirelab/hermes/api/grpc"
	"wirelab/hermes/broker"
	pb "wirelab/hermes/gen"
	"wirelab/hermes/gen/origin"
)

// granted is a policy of those principals, and the token of each "$name" in it.
func granted(t *testing.T, text string) (policy *access.Policy, file string, tokens map[string]string) {
	t.Helper()
	tokens = map[string]string{}
	text = os.Expand(text, func(name string) string {
		token, hash := access.NewToken()
		tokens[name] = token
		return hash
	})
	file = filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	policy, err := access.Load(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	return policy, file, tokens
}

// Over a real connection: calls and streams need a token, health does not; rights and
// quotas are held to; a subscription ends when its right does. (hb-D25)
func TestAccess(t *testing.T) {
	t.Parallel()
	policy, file, tokens := granted(t, `principals:
  - {name: a, tokens: [$a], publish: [t], subscribe: [t]}
  - {name: b, tokens: [$b], subscribe: [u]}
  - {name: c, tokens: [$c], publish: [u], quota: {messages_per_second: 1}}
`)
	m := memory(t)
	if _, err := m.CreateTopic(t.Context(), broker.Topic{Name: "u"}); err != nil {
		t.Fatal(err)
	}
	s := serve(t, access.Wrap(m, policy), api.Options{Access: policy})
	hermes, admin, old := pb.NewHermesClient(s.conn), pb.NewAdminClient(s.conn), origin.NewBrokerServiceClient(s.conn)
	as := func(who string) context.Context {
		return metadata.AppendToOutgoingContext(patient(t), "authorization", "Bearer "+tokens[who])
	}
	want := func(what string, err error, code codes.Code) {
		t.Helper()
		if status.Code(err) != code {
			t.Errorf("%s: %v; want %v", what, err, code)
		}
		for _, token := range tokens {
			if err != nil && strings.Contains(err.Error(), token) {
				t.Errorf("%s shows a token: %v", what, err)
			}
		}
	}
	publish := func(ctx context.Context, topic string) error {
		_, err := hermes.Publish(ctx, &pb.PublishRequest{Topic: topic, Messages: &pb.Message{Payload: []byte("x")}})
		return err
	}
	subscribe := func(ctx context.Context, topic string) (pb.Hermes_SubscribeClient, error) {
		call, err := hermes.Subscribe(ctx)
		if err != nil {
			return nil, err
		}
		_ = call.Send(&pb.SubscribeRequest{Does: &pb.SubscribeRequest_Start{Start: &pb.Start{
			Topic: topic, From: &pb.Start_Replay{Replay: true}, Credit: &pb.Credit{Messages: 100},
		}}}) // a failure is Recv's to tell
		_, err = call.Recv()
		return call, err
	}
	_, err := grpc_health_v1.NewHealthClient(s.conn).Check(patient(t), &grpc_health_v1.HealthCheckRequest{})
	want("health", err, codes.OK)
	for what, ctx := range map[string]context.Context{
		"no token":      patient(t),
		"a wrong token": as("stranger"),
		"two tokens":    metadata.AppendToOutgoingContext(as("a"), "authorization", "Bearer "+tokens["b"]),
	} {
		want(what+", publish", publish(ctx, "t"), codes.Unauthenticated)
		_, err = subscribe(ctx, "t")
		want(what+", subscribe", err, codes.Unauthenticated)
		_, err = admin.GetCluster(ctx, &pb.GetClusterRequest{})
		want(what+", cluster", err, codes.Unauthenticated)
		_, err = old.Publish(ctx, &origin.PublishRequest{Topic: "t"})
		want(what+", the origin's", err, codes.Unauthenticated)
		call, err := reflection.NewServerReflectionClient(s.conn).ServerReflectionInfo(ctx)
		if err == nil {
			_, err = call.Recv()
		}
		want(what+", reflection", err, codes.Unauthenticated)
	}
	want("publish", publish(as("a"), "t"), codes.OK)
	want("publish elsewhere", publish(as("a"), "u"), codes.PermissionDenied)
	want("publish without the right", publish(as("b"), "u"), codes.PermissionDenied)
	_, err = old.Publish(as("b"), &origin.PublishRequest{Topic: "new"})
	want("the origin's publish", err, codes.PermissionDenied)
	_, err = subscribe(as("b"), "t")
	want("subscribe elsewhere", err, codes.PermissionDenied)
	_, err = admin.TransferLeadership(as("a"), &pb.MemberRequest{Id: 1})
	want("the cluster", err, codes.PermissionDenied)
	list, err := admin.ListTopics(as("b"), &pb.ListTopicsRequest{})
	if err != nil || len(list.GetTopics()) != 1 || list.GetTopics()[0].GetConfig().GetName() != "u" {
		t.Error(list, err)
	}
	batch, err := hermes.PublishBatch(as("c"), &pb.PublishBatchRequest{Runs: []*pb.Run{
		{Topic: "t", Messages: []*pb.Message{{}}, Tag: 1},
		{Topic: "u", Messages: slices.Repeat([]*pb.Message{{}}, 600), Tag: 2}, // ten minutes ahead
		{Topic: "u", Messages: []*pb.Message{{}}, Tag: 3},
	}})
	if v := batch.GetVerdicts(); err != nil || len(v) != 3 || v[0].GetError().GetCode() != "permission_denied" ||
		v[1].GetError() != nil || v[2].GetError().GetCode() != "resource_exhausted" {
		t.Error(batch, err)
	}

	call, err := subscribe(as("a"), "t")
	want("subscribe", err, codes.OK)
	if d, err := call.Recv(); err != nil || len(d.GetMessages()) != 1 {
		t.Fatal(d, err)
	}
	stream, err := hermes.PublishStream(as("a"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("principals:\n  - {name: b, tokens: ["+access.Hash(tokens["b"])+
		"], subscribe: [u]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if changed, err := policy.Reload(t.Context()); !changed || err != nil {
		t.Fatal(changed, err)
	}
	_, err = call.Recv()
	want("a subscription whose principal went", err, codes.Unauthenticated)
	if err := stream.Send(alone(&pb.Run{Topic: "t", Messages: []*pb.Message{{}}, Tag: 7})); err == nil {
		v, err := stream.Recv()
		if err == nil && (len(v.GetVerdicts()) != 1 || v.GetVerdicts()[0].GetError().GetCode() != "unauthenticated") {
			t.Error("a stream whose principal went:", v)
		}
		if err != nil {
			want("a stream whose principal went", err, codes.Unauthenticated)
		}
	}
	_ = stream.CloseSend()
}

// Who shows no token is refused when the headers are there, and nothing of a message is waited for or kept.
func TestAccessBeforeTheMessage(t *testing.T) {
	t.Parallel()
	policy, _, _ := granted(t, "principals:\n  - {name: a, tokens: [$a], publish: [t]}\n")
	s := serve(t, access.Wrap(memory(t), policy), api.Options{Access: policy})
	for _, path := range []string{
		pb.Hermes_Publish_FullMethodName, pb.Hermes_PublishStream_FullMethodName,
		pb.Hermes_Subscribe_FullMethodName,
	} {
		ctx := metadata.AppendToOutgoingContext(patient(t), "authorization", "Bearer none")
		call, err := s.conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, path)
		if err != nil {
			t.Fatal(err)
		}
		if err := call.RecvMsg(new(pb.Verdicts)); status.Code(err) != codes.Unauthenticated {
			t.Errorf("%s without a token or a message: %v", path, err)
		}
	}
}
