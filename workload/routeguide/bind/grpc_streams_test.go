package bind_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	reflectionv1alpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"wirelab"
	"wirelab/internal/leaktest"
	wiregrpc "wirelab/wire/grpc"
	"wirelab/workload/routeguide"
	"wirelab/workload/routeguide/bind"
	"wirelab/workload/routeguide/gen"
	"wirelab/workload/routeguide/gen/genconnect"
)

// everywhere is the rectangle that holds every feature.
var everywhere = routeguide.Rectangle{
	Lo: routeguide.Point{Latitude: -routeguide.LatitudeLimit, Longitude: -routeguide.LongitudeLimit},
	Hi: routeguide.Point{Latitude: routeguide.LatitudeLimit, Longitude: routeguide.LongitudeLimit},
}

// endless yields notes at one place until it is stopped, and reports misuse.
func endless(t *testing.T, running *atomic.Bool) iter.Seq2[routeguide.RouteNote, error] {
	return func(yield func(routeguide.RouteNote, error) bool) {
		if running.Swap(true) {
			t.Error("the input is read twice at once")
		}
		defer running.Store(false)
		for yield(routeguide.RouteNote{Location: routeguide.Published, Message: strings.Repeat("x", 100)}, nil) {
		}
	}
}

// TestRPCEarlyBreakLeaksNothing stops reading streams that would never end: the handler of the server is cancelled,
// the rest of the input is dropped, and no goroutine is left. It is done often, since some servers take a client
// that resets many streams for an attack.
func TestRPCEarlyBreakLeaksNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	eachPair(t, func(t *testing.T, p rpcPair) {
		defer leaktest.None(t, goleak.IgnoreCurrent())
		t.Run("break", func(t *testing.T) {
			var handlers atomic.Int64
			finished := make(chan struct{}, 300)
			memory := routeguide.New()
			stub := p.dial(t, p.serve(t, scripted{
				list: func(ctx context.Context, _ routeguide.Rectangle) iter.Seq2[routeguide.Feature, error] {
					return func(yield func(routeguide.Feature, error) bool) {
						handlers.Add(1)
						defer func() { finished <- struct{}{} }()
						for ctx.Err() == nil && yield(routeguide.Feature{Name: strings.Repeat("x", 100)}, nil) {
						}
					}
				},
				chat: func(
					ctx context.Context, notes iter.Seq2[routeguide.RouteNote, error],
				) iter.Seq2[routeguide.RouteNote, error] {
					return func(yield func(routeguide.RouteNote, error) bool) {
						handlers.Add(1)
						defer func() { finished <- struct{}{} }()
						memory.RouteChat(ctx, notes)(yield)
					}
				},
			}, 0))
			for range 25 {
				for _, err := range stub.ListFeatures(t.Context(), everywhere) {
					if err != nil {
						t.Fatal(err)
					}
					break
				}
				if _, hole := p.Holes["RouteChat"]; hole {
					continue
				}
				var running atomic.Bool
				for _, err := range stub.RouteChat(t.Context(), endless(t, &running)) {
					if err != nil {
						t.Fatal(err)
					}
					if !running.Load() {
						t.Error("a reply while no input is read")
					}
					break
				}
				if running.Load() {
					t.Fatal("the input is still read after the call returned")
				}
			}
			for range handlers.Load() {
				<-finished
			}
		})
	})
}

// TestRPCChatOfThousands sends far more than the windows hold, both ways, to a
// consumer that reads nothing until a hundred notes are on their way.
func TestRPCChatOfThousands(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	const count, ahead = 2000, 100
	text := strings.Repeat("x", 300)
	eachPair(t, func(t *testing.T, p rpcPair) {
		if _, hole := p.Holes["RouteChat"]; hole {
			t.Skip("a hole")
		}
		stub := p.dial(t, p.serve(t, routeguide.New(), 0))
		want := 0
		for i := range count {
			want += min(i+1, routeguide.NotesKept)
		}
		got, under := 0, make(chan struct{})
		for _, err := range stub.RouteChat(t.Context(), func(yield func(routeguide.RouteNote, error) bool) {
			for i := range count {
				if i == ahead {
					close(under)
				}
				if !yield(routeguide.RouteNote{Message: text}, nil) {
					return
				}
			}
		}) {
			if err != nil {
				t.Fatalf("after %d replies: %v", got, err)
			}
			<-under
			got++
		}
		if got != want {
			t.Errorf("%d replies, want %d", got, want)
		}
	})
}

// TestRPCChatAnswersBeforeItReads holds the first note back until the handler
// runs, and each other until the replies to the last have come.
func TestRPCChatAnswersBeforeItReads(t *testing.T) {
	t.Parallel()
	eachPair(t, func(t *testing.T, p rpcPair) {
		if _, hole := p.Holes["RouteChat"]; hole {
			t.Skip("a hole")
		}
		memory, began := routeguide.New(), make(chan struct{})
		stub := p.dial(t, p.serve(t, scripted{
			chat: func(
				ctx context.Context, notes iter.Seq2[routeguide.RouteNote, error],
			) iter.Seq2[routeguide.RouteNote, error] {
				close(began)
				return memory.RouteChat(ctx, notes)
			},
		}, 0))
		answered := make(chan struct{}, 1)
		replies := 0
		for _, err := range stub.RouteChat(t.Context(), func(yield func(routeguide.RouteNote, error) bool) {
			<-began
			for i := range 10 {
				if !yield(routeguide.RouteNote{Location: routeguide.Point{Latitude: int32(i)}}, nil) {
					return
				}
				<-answered
			}
		}) {
			if err != nil {
				t.Fatal(err)
			}
			replies++
			answered <- struct{}{}
		}
		if replies != 10 {
			t.Errorf("%d replies, want 10", replies)
		}
	})
}

// TestRPCBrokenInputIsNoEnd breaks an upload off in each way a client can. The
// handler must be told that it broke, or it would answer for the half it has;
// and the caller must not be left waiting for a reply.
func TestRPCBrokenInputIsNoEnd(t *testing.T) {
	t.Parallel()
	eachPair(t, func(t *testing.T, p rpcPair) {
		ends := make(chan error, 1)
		begun := make(chan struct{}, 1)
		stub := p.dial(t, p.serve(t, scripted{
			record: func(_ context.Context,
				points iter.Seq2[routeguide.Point, error],
			) (routeguide.RouteSummary, error) {
				var last error
				for _, last = range points {
					if last == nil {
						begun <- struct{}{}
					}
				}
				ends <- last
				return routeguide.RouteSummary{}, last
			},
			chat: func(_ context.Context,
				notes iter.Seq2[routeguide.RouteNote, error],
			) iter.Seq2[routeguide.RouteNote, error] {
				return func(yield func(routeguide.RouteNote, error) bool) {
					var last error
					for _, last = range notes {
						// An answer before the break: net/http forgets contexts only then.
						if last == nil && !yield(routeguide.RouteNote{}, nil) {
							break
						}
					}
					ends <- last
				}
			},
		}, 0))
		broken := wirelab.Errorf(wirelab.NotFound, "no more ink")
		ended := func(name string, err error, want wirelab.Code) {
			if err == nil || wirelab.CodeOf(err) != want {
				t.Errorf("%s: the caller got %v, want %v", name, err, want)
			}
			if <-ends == nil {
				t.Errorf("%s: to the handler it ended well", name)
			}
		}
		_, err := stub.RecordRoute(t.Context(), func(yield func(routeguide.Point, error) bool) {
			if yield(routeguide.Point{}, nil) {
				<-begun
				yield(routeguide.Point{}, broken)
			}
		})
		ended("a route with an error in it", err, wirelab.NotFound)
		if _, hole := p.Holes["RouteChat"]; hole {
			return
		}

		// chat holds a conversation of one note and its answer, and then does what after does.
		chat := func(ctx context.Context, answered func(),
			after func(yield func(routeguide.RouteNote, error) bool),
		) (last error) {
			answer := make(chan struct{})
			for _, err := range stub.RouteChat(ctx, func(yield func(routeguide.RouteNote, error) bool) {
				if yield(routeguide.RouteNote{}, nil) {
					<-answer
					after(yield)
				}
			}) {
				if last = err; err == nil {
					close(answer)
					answered()
				}
			}
			return last
		}
		err = chat(t.Context(), func() {}, func(yield func(routeguide.RouteNote, error) bool) {
			yield(routeguide.RouteNote{}, broken)
		})
		ended("a chat with an error in it", err, wirelab.NotFound)
		ctx, cancel := context.WithCancel(t.Context())
		err = chat(ctx, cancel, func(func(routeguide.RouteNote, error) bool) { <-ctx.Done() })
		ended("a chat given up while its input waits", err, wirelab.Canceled)
		for range stub.RouteChat(t.Context(), func(yield func(routeguide.RouteNote, error) bool) {
			yield(routeguide.RouteNote{}, nil)
			<-begun
		}) {
			begun <- struct{}{}
			break
		}
		if <-ends == nil {
			t.Log("a chat no longer read: the input had ended first") // either order is right here
		}
	})
}

// TestRPCRawClients calls both servers as a stranger's grpc-go client does.
func TestRPCRawClients(t *testing.T) {
	t.Parallel()
	b := bind.GRPC()
	for _, server := range b.Servers {
		t.Run(server.Library, func(t *testing.T) {
			s := rpcPair{b, server, b.Clients[0]}.serve(t, routeguide.New(), 0)
			conn, err := wiregrpc.Dial(wirelab.Dialing{Address: s.address}, false)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			client := gen.NewRouteGuideClient(conn)
			t.Run("absent corners and locations are 0, 0", func(t *testing.T) { checkAbsent(t, client) })
			t.Run("a message above the limit is ResourceExhausted", func(t *testing.T) {
				huge := &gen.RouteNote{Message: strings.Repeat("x", wiregrpc.MaxMessage)}
				for side, options := range map[string][]grpc.CallOption{
					"client's limit": nil,
					"server's limit": {grpc.MaxCallSendMsgSize(2 * wiregrpc.MaxMessage)},
				} {
					call, err := client.RouteChat(t.Context(), options...)
					if err != nil {
						t.Fatal(err)
					}
					err = call.Send(huge)
					if err == nil {
						_, err = call.Recv()
					}
					if err == nil || wirelab.CodeOf(wiregrpc.Decode(err)) != wirelab.ResourceExhausted {
						t.Errorf("%s: %v, want resource_exhausted", side, err)
					}
				}
			})
			t.Run("an unknown method is Unimplemented", func(t *testing.T) {
				err := conn.Invoke(t.Context(), "/routeguide.RouteGuide/Teleport", &gen.Point{}, &gen.Point{})
				if err == nil || wirelab.CodeOf(wiregrpc.Decode(err)) != wirelab.Unimplemented {
					t.Errorf("%v, want unimplemented", err)
				}
			})
			t.Run("health", func(t *testing.T) { checkHealth(t, grpc_health_v1.NewHealthClient(conn)) })
			t.Run("reflection", func(t *testing.T) { checkReflection(t, conn) })
		})
	}
}

func checkAbsent(t *testing.T, client gen.RouteGuideClient) {
	list, err := client.ListFeatures(t.Context(), &gen.Rectangle{})
	if err != nil {
		t.Fatal(err)
	}
	if f, err := list.Recv(); err == nil {
		t.Errorf("a feature at 0, 0: %v", f)
	}
	chat, err := client.RouteChat(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(chat.Send(&gen.RouteNote{}), chat.CloseSend()); err != nil {
		t.Fatal(err)
	}
	if _, err := chat.Recv(); err != nil {
		t.Errorf("a note without a location: %v", err)
	}
	if _, err := client.GetFeature(t.Context(), nil); err != nil {
		t.Errorf("GetFeature without a point: %v", err)
	}
}

func checkHealth(t *testing.T, client grpc_health_v1.HealthClient) {
	serving := grpc_health_v1.HealthCheckResponse_SERVING
	for _, service := range []string{"", genconnect.RouteGuideName, "v1.RouteGuide"} {
		request := &grpc_health_v1.HealthCheckRequest{Service: service}
		reply, err := client.Check(t.Context(), request)
		if err != nil || reply.GetStatus() != serving {
			t.Errorf("Check %q: %v, %v", service, reply, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		watch, err := client.Watch(ctx, request)
		if err == nil {
			reply, err = watch.Recv()
		}
		if err != nil || reply.GetStatus() != serving {
			t.Errorf("Watch %q: %v, %v", service, reply, err)
		}
		cancel()
	}
	_, err := client.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: "absent"})
	if err == nil || wirelab.CodeOf(wiregrpc.Decode(err)) != wirelab.NotFound {
		t.Errorf("health of an unknown service: %v, want not_found", err)
	}
}

func checkReflection(t *testing.T, conn *grpc.ClientConn) {
	v1, err := reflectionv1.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ask := func(request *reflectionv1.ServerReflectionRequest) *reflectionv1.ServerReflectionResponse {
		if err := v1.Send(request); err != nil {
			t.Fatal(err)
		}
		reply, err := v1.Recv()
		if err != nil {
			t.Fatal(err)
		}
		return reply
	}
	listed := ask(&reflectionv1.ServerReflectionRequest{
		MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{},
	}).GetListServicesResponse().String()
	for _, name := range []string{
		genconnect.RouteGuideName, "v1.RouteGuide", "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection",
	} {
		if !strings.Contains(listed, `"`+name+`"`) {
			t.Errorf("%s is not among %s", name, listed)
		}
	}
	var files [][]byte // all that came: a server sends each once in a stream
	for _, name := range []string{genconnect.RouteGuideName, "v1.RouteGuide"} {
		reply := ask(&reflectionv1.ServerReflectionRequest{
			MessageRequest: &reflectionv1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: name},
		})
		files = append(files, reply.GetFileDescriptorResponse().GetFileDescriptorProto()...)
		if methods := described(t, files, name); methods != 4 {
			t.Errorf("reflection describes %d methods of %s: %v", methods, name, reply)
		}
	}
	alpha, err := reflectionv1alpha.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(alpha.Send(&reflectionv1alpha.ServerReflectionRequest{ //nolint:staticcheck // old clients still speak it
		MessageRequest: &reflectionv1alpha.ServerReflectionRequest_ListServices{},
	}), alpha.CloseSend(), v1.CloseSend()); err != nil {
		t.Fatal(err)
	}
	if reply, err := alpha.Recv(); err != nil || !strings.Contains(reply.String(), genconnect.RouteGuideName) {
		t.Errorf("v1alpha: %v, %v", reply, err)
	}
}

// described returns how many methods a service has by the files that reflection
// returns, which are all that a tool knows of it.
func described(t *testing.T, files [][]byte, name string) int {
	t.Helper()
	var set descriptorpb.FileDescriptorSet
	for _, file := range files {
		message := new(descriptorpb.FileDescriptorProto)
		if err := proto.Unmarshal(file, message); err != nil {
			t.Fatal(err)
		}
		set.File = append(set.File, message)
	}
	known, err := protodesc.NewFiles(&set)
	if err != nil {
		t.Errorf("the files that describe %s: %v", name, err)
		return 0
	}
	found, err := known.FindDescriptorByName(protoreflect.FullName(name))
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return 0
	}
	return found.(protoreflect.ServiceDescriptor).Methods().Len()
}
