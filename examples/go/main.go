// Shop is a small shop that serves the same data over REST and gRPC.
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"net"
	"net/http"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	rest := flag.String("rest", "127.0.0.1:8080", "address of REST")
	grpc := flag.String("grpc", "127.0.0.1:9000", "address of gRPC")
	flag.Parse()
	if err := run(*rest, *grpc); err != nil {
		log.Fatal(err)
	}
}

// run serves until SIGTERM or Ctrl-C.
func run(rest, grpc string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	overREST, err := net.Listen("tcp", rest)
	if err != nil {
		return err
	}
	overGRPC, err := net.Listen("tcp", grpc)
	if err != nil {
		return errors.Join(err, overREST.Close())
	}
	s := newShop()
	web, calls := &http.Server{Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second}, s.server()
	ended := make(chan error, 2)
	go func() { ended <- web.Serve(overREST) }()
	go func() { ended <- calls.Serve(overGRPC) }()
	select {
	case <-ctx.Done():
	case err = <-ended:
	}
	calls.Stop()
	return errors.Join(err, web.Close())
}
