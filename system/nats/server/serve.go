package server

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"wirelab"
	"wirelab/internal/process"
	"wirelab/system/nats"
)

// Serve is the child's end of [nats.Start]: it runs the server that the environment
// describes, says on output when it is ready, and ends when input does, which it
// does with the parent.
func Serve(ctx context.Context, getenv func(string) string, input io.Reader, output, complaints io.Writer) error {
	var o nats.Options
	if err := json.Unmarshal([]byte(getenv(nats.Environment)), &o); err != nil {
		// What was read holds a password, and stays out of the message.
		return wirelab.Errorf(wirelab.InvalidArgument, "the variable %s does not hold a server's options",
			nats.Environment)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var running sync.WaitGroup
	var failed error
	running.Go(func() {
		defer stop()
		failed = Run(ctx, o, complaints, func(string) {
			ready := nats.Ready{Address: o.Address(), Version: Version()}
			if process.WriteLine(output, nats.Reply{Ready: &ready}) != nil {
				stop() // no one listens any more
			}
		})
	})
	orders := make(chan error, 1)
	go func() { orders <- refuse(input, output) }() // ends with the input, or with the process
	var err error
	select {
	case err = <-orders:
		stop()
	case <-ctx.Done():
	}
	running.Wait()
	return errors.Join(failed, err)
}

// refuse answers that there is nothing to order, until the input ends.
func refuse(input io.Reader, output io.Writer) error {
	orders := process.NewReader[struct{}](input)
	for {
		_, err := orders.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = process.WriteLine(output, nats.Reply{Error: "a NATS server takes no orders"})
		}
		if err != nil {
			return err
		}
	}
}
