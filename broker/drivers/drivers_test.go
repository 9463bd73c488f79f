package drivers_test

import (
	"slices"
	"testing"

	"wirelab"
	"wirelab/broker/drivers"
	"wirelab/broker/kinds"
)

// TestEachKindIsDriven checks that each listed kind has a driver and work queues, so that commands can use every
// kind they know.
func TestEachKindIsDriven(t *testing.T) {
	t.Parallel()
	for _, k := range kinds.All() {
		if !slices.ContainsFunc(drivers.All(), func(d drivers.Driver) bool { return d.Kind == k.Name }) {
			t.Errorf("%s has no driver", k.Name)
		}
		// There is no server, which is Unavailable; an unknown kind would be another error.
		_, err := drivers.Queues(t.Context(), k.Name, map[string]string{
			kinds.RabbitMQ: "amqp://127.0.0.1:1/", kinds.NATS: "nats://127.0.0.1:1", kinds.Hermes: "no address",
		}[k.Name])
		if code := wirelab.CodeOf(err); code != wirelab.Unavailable && k.Name != kinds.Hermes {
			t.Errorf("queues of %s: %v, want unavailable", k.Name, err)
		}
		if k.Product == "" || k.Path == "" || k.Variable == "" || len(k.Queues) == 0 {
			t.Errorf("%+v is not whole", k)
		}
	}
	if _, err := drivers.Queues(
		t.Context(),
		drivers.Kafka,
		"127.0.0.1:1",
	); wirelab.CodeOf(
		err,
	) != wirelab.InvalidArgument {
		t.Errorf("queues of Kafka, which cannot give one message back: %v", err)
	}
}
