package memory_test

import (
	"testing"

	"wirelab/broker"
	"wirelab/broker/brokertest"
	"wirelab/broker/memory"
)

func TestContract(t *testing.T) {
	t.Parallel()
	brokertest.Run(t, func(*testing.T) broker.Broker { return memory.New() })
}
