package memory_test

import (
	"testing"

	"wirelab/brokers"
	"wirelab/brokers/brokertest"
	"wirelab/brokers/memory"
)

func TestContract(t *testing.T) {
	t.Parallel()
	brokertest.Run(t, func(*testing.T) brokers.Broker { return memory.New() })
}
