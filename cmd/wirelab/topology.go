package main

import (
	"slices"
	"strings"

	"wirelab/cmd/internal/cli"
	"wirelab/pipeline/stack"
)

// topologyHelp is what --published-topology says of itself.
const topologyHelp = "use RabbitMQ as the published pipeline does: topic exchange logs_topic, no confirms, a queue that ends with its listener; entries can be lost"

// checkTopology tells which flags --published-topology cannot be with.
func (f *upFlags) checkTopology() error {
	switch {
	case !f.topology:
		return nil
	case !slices.Contains(f.brokers, stack.RabbitMQ):
		return cli.Usage("--published-topology is RabbitMQ's, and --broker %s does not ask for it", strings.Join(f.brokers, ","))
	case f.direct:
		return cli.Usage("--published-topology with --direct: each listener gets each entry, and two would store it twice; leave one of them out")
	case f.queue != "":
		return cli.Usage("--published-topology has a queue of its own for each listener; leave --queue out")
	}
	return nil
}
