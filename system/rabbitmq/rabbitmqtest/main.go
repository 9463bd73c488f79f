// Package rabbitmqtest gives tests a real RabbitMQ, one for a package's whole run. Where none is installed
// tests are skipped, and that is reported ([prereq]). It knows nothing of the messages through it.
package rabbitmqtest

import (
	"context"
	"fmt"
	"os"
	"testing"

	"wirelab/internal/prereq"
	"wirelab/system/rabbitmq"
)

// Need skips a test where no server is installed that it could start, and with -short.
func Need(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a server")
	}
	_, err := rabbitmq.Find(t.Context(), os.Getenv)
	prereq.RabbitMQ.Need(t, err)
}

// Shared returns the address of a server for a test that names its queues as no
// other does, and does nothing to the server itself: that of the runner of all
// tests, or else one that is started for this test.
func Shared(t testing.TB) (url string) {
	t.Helper()
	Need(t)
	if url := prereq.Shared(prereq.RabbitMQVariable); url != "" {
		return url
	}
	s, err := rabbitmq.Start(t.Context(), rabbitmq.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s.URL()
}

// Main runs a package's tests with a server, which use gets before the first, and returns the exit code: func
// TestMain(m) { os.Exit(rabbitmqtest.Main(m, …)) }.
func Main(m *testing.M, use func(*rabbitmq.Server)) int {
	if why := prereq.Short(); why != nil {
		return prereq.RabbitMQ.LeaveOut(why)
	}
	if _, err := rabbitmq.Find(context.Background(), os.Getenv); err != nil {
		return prereq.RabbitMQ.Package(m, err)
	}
	s, err := rabbitmq.Start(context.Background(), rabbitmq.Options{})
	if err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "these tests need a RabbitMQ that starts: %v\n", err)
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
