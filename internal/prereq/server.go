package prereq

import (
	"os"
	"strings"
	"time"
)

// Variables that name the file in which the runner of all tests says where the
// one server is that packages share. Unset: each package starts its own.
const (
	PostgreSQLVariable = "WIRELAB_TEST_POSTGRESQL"
	RabbitMQVariable   = "WIRELAB_TEST_RABBITMQ"
)

// None is what the file holds where the server did not start.
const None = "none"

// patience is how long a server may take to start on a busy machine.
const patience = 2 * time.Minute

// Shared is where the server is that a variable is of, or "" if there is none. It
// waits for the runner to say so: the server starts while tests are compiled.
func Shared(variable string) (address string) {
	name := os.Getenv(variable)
	if name == "" {
		return ""
	}
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if text, err := os.ReadFile(name); err == nil {
			if address = strings.TrimSpace(string(text)); address == None {
				return ""
			}
			return address
		}
	}
	return ""
}
