// Package rabbitmqtest gives tests a real RabbitMQ, one for a package's whole
// run. Where none is installed tests fail, and say what to install. It knows
// nothing of what is sent through it.
package rabbitmqtest

import (
	"context"
	"fmt"
	"os"
	"testing"

	"wirelab/rabbitmq"
)

// Main runs a package's tests beside a server, which use gets before the first,
// and returns the exit code: func TestMain(m) { os.Exit(rabbitmqtest.Main(m, …)) }.
func Main(m *testing.M, use func(*rabbitmq.Server)) int {
	s, err := rabbitmq.Start(context.Background(), rabbitmq.Options{})
	if err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "these tests need a RabbitMQ: %v\n", err)
		return 1
	}
	use(s)
	code := m.Run()
	if err := s.Stop(context.Background()); err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "stop the RabbitMQ of the tests: %v\n", err)
		return 1
	}
	return code
}
