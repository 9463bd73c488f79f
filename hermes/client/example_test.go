package client_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"

	"wirelab/hermes"
	api "wirelab/hermes/api/grpc"
	"wirelab/hermes/broker"
	"wirelab/hermes/broker/brokertest"
	"wirelab/hermes/client"
	"wirelab/wire/endpoint"
)

// node is a broker in memory for the examples.
func node() (address string, stop func()) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", func() {}
	}
	m := brokertest.Memory()
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := api.Serve(ctx, endpoint.Endpoint{Listener: listener}, m, api.Options{}); err != nil {
			slog.Error("serving", "error", err)
		}
	})
	return listener.Addr().String(), func() { cancel(); serving.Wait(); m.Close() }
}

func Example() {
	address, stop := node()
	defer stop()
	ctx := context.Background()
	c, err := client.New(client.Options{Addresses: []string{address}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	if _, err := c.CreateTopic(ctx, broker.Topic{Name: "orders"}); err != nil {
		fmt.Println(err)
		return
	}
	r, err := c.Publish(ctx, "orders", hermes.Consistent, &hermes.Message{Payload: []byte("two of the blue ones")})
	fmt.Println("stored at", r.Offset, err)

	s, err := c.Subscribe(ctx, broker.Start{Topic: "orders", From: broker.FromGroup, Group: "billing"})
	if err != nil {
		fmt.Println(err)
		return
	}
	d, err := s.Next(ctx)
	fmt.Printf("%d %s %v\n", d.Offset, d.Payload, err)
	if err := s.Ack(ctx, broker.Range{First: d.Offset, Last: d.Offset}); err != nil {
		fmt.Println(err)
	}
	fmt.Println("acknowledged", s.Close(ctx))
	// Output:
	// stored at 0 <nil>
	// 0 two of the blue ones <nil>
	// acknowledged <nil>
}

func ExampleClient_Send() {
	address, stop := node()
	defer stop()
	ctx := context.Background()
	c, err := client.New(client.Options{Addresses: []string{address}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	if _, err := c.CreateTopic(ctx, broker.Topic{Name: "clicks"}); err != nil {
		fmt.Println(err)
		return
	}
	var failed error // only done writes it, and Flush comes after all of those
	for i := range 1000 {
		m := &hermes.Message{Payload: fmt.Append(nil, i)}
		if err := c.Send(ctx, "clicks", hermes.Consistent, m, func(_ client.Receipt, err error) {
			if err != nil {
				failed = err
			}
		}); err != nil {
			fmt.Println(err)
			return
		}
	}
	err = c.Flush(ctx)
	t, _ := c.Topic(ctx, "clicks", true)
	fmt.Println(t.Next, err, failed)
	// Output: 1000 <nil> <nil>
}

func ExampleSubscription_All() {
	address, stop := node()
	defer stop()
	ctx := context.Background()
	c, err := client.New(client.Options{Addresses: []string{address}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	s, err := c.Subscribe(ctx, broker.Start{Topic: "news", From: broker.FromOldest, Create: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, text := range []string{"first", "second"} {
		if _, err := c.Publish(ctx, "news", hermes.Consistent, &hermes.Message{Payload: []byte(text)}); err != nil {
			fmt.Println(err)
		}
	}
	for d, err := range s.All(ctx) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%d %s\n", d.Offset, d.Payload)
		if d.Offset == 1 {
			break
		}
	}
	// Output:
	// 0 first
	// 1 second
}
